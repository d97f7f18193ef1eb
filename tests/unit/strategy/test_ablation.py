"""Rules are left out one at a time, and put back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polyopt.building import compile_stages
from polyopt.machine import Machine
from polyopt.targets import Options
from tests import ablation, ablation_runs
from tests.heldout import PROGRAMS
from tests.hostile.stages import Settled
from tests.rules import rules_of, watched

MACHINE = Machine(cores=4, vector_bytes=32, vector_registers=16)
BASIC = {"large_programs", "tiling", "vector"}
"""Modules without which hardly any schedule has steps."""


def deciding(name: str, rule: str) -> set[str]:
    """Return the modules whose steps a held-out program's schedule has without a rule."""
    program, found = PROGRAMS[name], set[str]()
    options = Options().changed({"fp": program.fp, "target": "c", "threads": 2})

    def make(types: object) -> object:
        stages = compile_stages(program.function, types, options, MACHINE)
        found.update(of(stages.schedules))
        return stages.source

    with ablation.without(rule), watched() as of:
        Settled(program.function, make).of(program.arguments())
    return found


def test_each_rule_can_be_left_out():
    assert rules_of("c") - set(ablation.RULES) == BASIC
    for rule in ablation.RULES:
        with ablation.without(rule):
            pass


@pytest.mark.parametrize("rule", ["sums", "order", "transposed_lanes"])
def test_a_rule_left_out_does_not_decide(rule):
    name = next((n for n, p in PROGRAMS.items() if rule in p.rules and p.target == "c"), None)
    assert name is not None
    assert rule in deciding(name, ablation.BASE)
    assert rule not in deciding(name, rule)


def test_unknown_rules_are_refused():
    with pytest.raises(KeyError, match="no rule tilings"), ablation.without("tilings"):
        pass


def row(rule: str, seconds: tuple[float, float], program: str = "a:loops") -> ablation.Row:
    made = ablation.Row(rule, program, "native", "strict", False, {"N": 8}, (1.0, 2.0))
    return replace(made, seconds=seconds, rounds=3)


def test_the_ratio_is_time_without_over_time_with():
    rows = [row("sums", (1.0, 2.0)), row("sums", (1.0, 8.0), "b:loops")]
    line = ablation.summary(rows, {"sums": 181}).splitlines()[1]
    assert line.split() == ["sums", "181", "native", "2", "2", "4.00", "2.00", "8.00", "2.00"]


def test_kept_rows_are_the_same(tmp_path: Path):
    rows = [row("sums", (1.0, 2.0)), replace(row("order", (0.0, 0.0)), rounds=0)]
    ablation.keep(rows, tmp_path / "rows.json")
    assert ablation.load(tmp_path / "rows.json") == rows
    assert [one.is_open for one in rows] == [False, True]
    assert ablation.load(tmp_path / "none.json") == []


def test_sizes_grow_together():
    assert ablation_runs._doubled({"H": 20, "W": 30, "H-2": 18}, 2) == {
        "H": 80,
        "W": 120,
        "H-2": 78,
    }
    assert ablation_runs._doubled({"B": 3, "N": 50}, 3) == {"B": 3, "N": 400}
    assert ablation_runs._doubled({"B": 3, "N": 5}, 1) == {"B": 6, "N": 10}
