"""What a compilation leaves out when its budget ends, and what it says of that."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import polyopt as po
from polyopt import building, pipeline, strategy
from polyopt.errors import BudgetError, UsageError
from polyopt.ir.budget import Budget, checkpoint
from polyopt.ir.interp import run_loops
from polyopt.runtime import build as builder
from polyopt.runtime import notices
from polyopt.schedule.large_parts import schedule_in_source_order
from polyopt.targets import Options, seconds_to_compile
from tests import scops


def smooth(a, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0


def forever(*_, **__):
    while True:
        checkpoint()


def test_what_cannot_be_scheduled_in_time_runs_as_written(monkeypatch):
    monkeypatch.setattr(strategy, "auto_schedule", forever)
    made = building.compile_stages(smooth, types(), Options(budget=4.0))
    assert [(d.what, d.code) for d in made.dropped] == [("the automatic schedule", "PO0703")]
    assert made.schedule_text == ""
    assert made.certificate.is_proven
    mine, theirs = np.arange(6.0) ** 2, np.arange(6.0) ** 2
    smooth(theirs, 2)
    names = [array.name for array in made.loops.arrays]
    run_loops(made.loops, {names[0]: mine}, dict.fromkeys(made.loops.params, 6) | {"steps": 2})
    assert mine.tolist() == theirs.tolist()


def test_dependences_that_were_put_off_are_computed_when_asked_for():
    plain = schedule_in_source_order(scops.jacobi())
    assert [d.array for d in plain.dependences.memory]
    assert plain.dependences.ordering.is_equal(
        pipeline.source_schedule(scops.jacobi()).dependences.ordering
    )


def test_a_text_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(pipeline, "LONGEST", 100)
    with pytest.raises(BudgetError) as refused:
        building.compile_stages(smooth, types(), Options())
    assert refused.value.code == "PO0706"
    assert "characters of code, more than 100" in refused.value.message


@pytest.mark.toolchain
def test_a_compiler_that_takes_too_long_is_asked_for_less(monkeypatch):
    real = builder._finish
    asked = []

    def slow(compiler, texts, work, running, seconds):
        if seconds is None:  # what all kernels of the process share
            return real(compiler, texts, work, running, seconds)
        asked.append((texts.quick, seconds))
        if not texts.quick:
            raise builder.TooSlow(seconds)
        return real(compiler, texts, work, running, seconds)

    monkeypatch.setattr(builder, "_finish", slow)
    fast = po.kernel(smooth, budget=30.0)
    with pytest.warns(po.BudgetWarning, match="without: the C compiler's optimization; allow more"):
        made = fast.compile(np.ones(5), 3)
    assert [quick for quick, _ in asked] == [False, True]
    assert all(seconds < 31.0 for _, seconds in asked)
    values = np.arange(5.0) ** 2
    expected = values.copy()
    smooth(expected, 3)
    made(values, 3)
    assert values.tolist() == expected.tolist()
    assert "PO0504" in {d.code for d in made.stages.dropped}


@pytest.mark.toolchain
def test_what_was_left_out_is_told_again(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(strategy, "auto_schedule", forever)
    found = []
    for _ in range(2):
        monkeypatch.setattr(notices, "_GIVEN", {})  # as in another process
        with pytest.warns(po.BudgetWarning, match="without: the automatic schedule"):
            found.append(po.kernel(smooth, budget=5.0).compile(np.ones(5), 3))
    assert [made._built.stages is None for made in found] == [False, True]


@pytest.mark.parametrize("value", [0, -1.0, "soon", True, float("nan"), float("inf"), 10**6])
def test_a_budget_is_a_number_of_seconds(value):
    with pytest.raises(UsageError) as refused:
        Options().changed({"budget": value})
    assert refused.value.code == "PO0222"


def test_the_budget_comes_from_the_option_or_the_environment(monkeypatch):
    monkeypatch.delenv("POLYOPT_BUDGET", raising=False)
    assert seconds_to_compile(Options()) == 60.0
    monkeypatch.setenv("POLYOPT_BUDGET", "7.5")
    assert seconds_to_compile(Options()) == 7.5
    assert seconds_to_compile(Options().changed({"budget": 3})) == 3
    for wrong in ("soon", "0", "nan", "-3"):
        monkeypatch.setenv("POLYOPT_BUDGET", wrong)
        with pytest.raises(UsageError) as refused:
            seconds_to_compile(Options())
        assert refused.value.code == "PO0224"


def test_a_step_that_is_tried_has_a_budget_of_its_own(monkeypatch):
    from polyopt.ir import budget as budgets

    class Endless:
        def rewrite(self, tree, scop):
            forever()

    monkeypatch.setattr(budgets, "ALONE", 0.05)
    schedule = pipeline.source_schedule(scops.jacobi())
    with pytest.raises(BudgetError) as refused:
        schedule.apply(Endless())
    assert refused.value.code == "PO0703"
    with Budget(0.05).running(), contextlib.suppress(BudgetError):
        schedule.apply(Endless())


def types():
    """The types of `smooth`'s arguments."""
    from polyopt.specialize import Parameters, types_of

    return types_of(Parameters.of(smooth), (np.ones(6), 2), frozenset())
