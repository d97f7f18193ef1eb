# ruff: noqa: SIM108 - the branches are what is tested
"""Scalars that conditions set, and some write of which comes before each read, start anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.schedule.definite_assignment import with_set_scalars
from polyopt.specialize import Parameters, types_of


def program(function, *values) -> Program:
    return build(function, types_of(Parameters.of(function), values, frozenset()))


def set_first(found: Program) -> set[str]:
    """Return the scalars that a write without a condition starts now, though none did."""
    before = {s.name for s in found.scop.statements if s.guard is None}
    after = with_set_scalars(found).scop.statements
    return {s.target.array for s in after if s.guard is None and s.name not in before}


def three_sides(x, out):
    for i in range(x.shape[0]):
        if x[i] < 0.25:
            s = x[i] * 2.0
        elif x[i] < 0.5:
            s = x[i] - 1.0
        else:
            s = x[i] / 3.0
        out[i] = s


def constant_first(x, out):
    for i in range(x.shape[0]):
        if x[i] == 0.0:
            s = 1.0
        elif x[i] < 0.5:
            s = x[i] + 1.0
        else:
            s = x[i] / 3.0
        out[i] = s


def read_under_its_condition(x, out):
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            e = math.exp(x[i])
            out[i] = e / (1.0 + e)
        else:
            out[i] = 1.0


def integers(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        k = int(x[i] * 8.0)
        if k < 3:
            s = x[i]
        if k >= 3:
            s = -x[i]
        out[i] = s


def read_in_a_loop(x, out):
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            s = 2.0
        else:
            s = x[i]
        for j in range(3):
            out[i] += s * j


def one_side_is_left(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.25:
            s = x[i]
        elif x[i] < 0.5:
            s = 2.0
        out[i] = s


def neither_side(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            s = x[i]
        if x[i] > 0.5:
            s = -x[i]
        out[i] = s


def changed_between(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if out[i] < 0.5:
            s = x[i]
        out[i] = x[i]
        if out[i] >= 0.5:
            s = 2.0
        out[i] += s


def read_before(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        out[i] = s
        if x[i] < 0.5:
            s = x[i]
        else:
            s = 2.0


def last_is_kept(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            s = x[i] + 1.0
            out[i] = s
    out[0] = s


def last_is_read(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            s = x[i] + 1.0
        else:
            s = 0.5 * x[i]
        out[i] = s
    out[0] += s


def counted(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.5:
            s += 1.0
        else:
            s = x[i]
        out[i] = s


def decided_by_itself(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        if s < 0.5:
            s = x[i]
        else:
            s = 0.25
        out[i] = s


CASES = {
    counted: set(),
    decided_by_itself: {"s"},
    last_is_read: {"s"},
    last_is_kept: set(),
    three_sides: {"s"},
    constant_first: {"s"},
    read_under_its_condition: {"e"},
    integers: {"s"},
    read_in_a_loop: {"s"},
    one_side_is_left: set(),
    neither_side: set(),
    changed_between: set(),
    read_before: {"s"},
}

KEPT = (
    last_is_read,
    read_before,
    decided_by_itself,
)  # the next iteration, or what follows, reads the scalar


def arguments():
    rng = np.random.default_rng(3)
    x = rng.random(40)
    x[[3, 7]] = 0.0, 0.5
    return x, rng.random(40)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_only_scalars_that_no_read_finds_unset(function):
    assert set_first(program(function, *arguments())) == CASES[function]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results_stay(function):
    given, wanted = arguments(), arguments()
    function(*wanted)
    run_program(with_set_scalars(program(function, *given)), given)
    np.testing.assert_array_equal(given[1], wanted[1])


def test_a_constant_needs_no_other_statement():
    found = program(constant_first, *arguments())
    after = with_set_scalars(found).scop.statements
    assert len(after) == len(found.scop.statements)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_compiled_results_and_threads(function):
    given, wanted = arguments(), arguments()
    kernel = po.kernel(function, threads=2)
    kernel(*given)
    function(*wanted)
    np.testing.assert_allclose(given[1], wanted[1], rtol=4e-16)
    assert ("#pragma omp parallel" in kernel.compile(*arguments()).c) == bool(
        CASES[function] and function not in KEPT
    )


@pytest.mark.toolchain
@pytest.mark.machine
def test_steps_find_the_loops_that_are_compiled():
    given, wanted = arguments(), arguments()
    kernel = po.kernel(three_sides, schedule="source")
    with kernel.schedule(*given) as steps:
        steps.parallelize("L0[0]")
    kernel(*given)
    three_sides(*wanted)
    np.testing.assert_array_equal(given[1], wanted[1])
    assert "parallelize" in kernel.schedule(*given).text
