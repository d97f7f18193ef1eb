"""Loops are made for each outermost nest by itself: those of the whole, in a time that adds up."""

from __future__ import annotations

import pytest

import polyopt as po
from bench.programs import KINDS, define
from polyopt.emit import lower_scop
from polyopt.emit.lower_scop import lower_scop as lowered
from polyopt.frontend import build
from polyopt.frontend.infer import infer_types
from polyopt.ir import sizes
from polyopt.ir.budget import Budget
from polyopt.ir.loops import If
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.schedule import Schedule, source_schedule
from polyopt.specialize import Parameters, plain_values, types_of
from polyopt.targets import Options
from tests import scops

# ruff: noqa: F821 - sizes are named by strings

MACHINE = Machine(cores=1, vector_bytes=32, vector_registers=16)
MAKES = (scops.chain, scops.solve, scops.ahead, scops.planes, scops.jacobi, scops.prefix)


def program_of(kind, number, folder):
    """Return the program of that many statements."""
    function, arguments = define(KINDS[kind](number), folder)
    types = types_of(Parameters.of(function), plain_values(arguments), frozenset())
    return build(function, types)


def loops_apart_and_together(schedule: Schedule, monkeypatch) -> tuple[object, object]:
    """Return the loops as they are made, and those of all nests made together."""
    apart = lowered(schedule, frozenset()).body
    schedule.scop.known.clear()
    monkeypatch.setattr(lower_scop, "Sequence", ())
    return apart, lowered(schedule, frozenset()).body


@pytest.mark.parametrize("few", [0, 32])
@pytest.mark.parametrize("make", MAKES)
def test_nests_are_those_of_the_whole(make, few, monkeypatch):
    monkeypatch.setattr(sizes, "FEW", few)
    apart, together = loops_apart_and_together(source_schedule(make()), monkeypatch)
    assert apart == together


@pytest.mark.parametrize("kind", ["stencils", "nests", "sums", "chain"])
def test_nests_of_many_statements_are_those_of_the_whole(kind, tmp_path, monkeypatch):
    schedule = source_schedule(program_of(kind, 6, tmp_path).scop)
    apart, together = loops_apart_and_together(schedule, monkeypatch)
    assert apart == together
    assert len(apart) == 6


def conditions(a: po.f64[N], b: po.f64[N], n: po.i64):
    if n > 3:
        a[0] = 1.0
    for i in range(b.shape[0]):
        b[i] = 2.0
    if n > 3:
        a[1] = 3.0


@pytest.mark.parametrize("few", [0, 32])
def test_conditions_around_nests_are_those_of_the_whole(few, monkeypatch):
    """Where a part begins with a condition, isl sees all parts: it may test for several at once."""
    monkeypatch.setattr(sizes, "FEW", few)
    schedule = source_schedule(build(conditions, infer_types(conditions)).scop)
    apart, together = loops_apart_and_together(schedule, monkeypatch)
    assert apart == together
    assert any(isinstance(node, If) for node in apart)


def test_work_grows_with_the_statements_where_each_has_sizes_of_its_own(tmp_path):
    operations = []
    for number in (40, 80, 160):
        budget = Budget(300.0)
        program = program_of("stencils", number, tmp_path)
        compile_program(program, Options(schedule="source"), MACHINE, budget=budget)
        operations.append(budget.costs["compiling"].operations)
    assert operations[1] <= 2.2 * operations[0]
    assert operations[2] <= 2.2 * operations[1]
