"""Loops are made for each outermost nest by itself: those of the whole, in a time that adds up."""

from __future__ import annotations

import pytest

from bench.programs import KINDS, define
from polyopt.emit import lower_scop
from polyopt.emit.lower_scop import lower_scop as lowered
from polyopt.frontend import build
from polyopt.ir import scop
from polyopt.ir.budget import Budget
from polyopt.ir.expr import Compare, CompareOp, Const, Load, Param, Symbol
from polyopt.ir.loops import Assign, If
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.schedule import Schedule, source_schedule
from polyopt.specialize import Parameters, plain_values, types_of
from polyopt.targets import Options
from tests import scops

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
    monkeypatch.setattr(scop, "FEW", few)
    apart, together = loops_apart_and_together(source_schedule(make()), monkeypatch)
    assert apart == together


@pytest.mark.parametrize("kind", ["stencils", "nests", "sums", "chain"])
def test_nests_of_many_statements_are_those_of_the_whole(kind, tmp_path, monkeypatch):
    schedule = source_schedule(program_of(kind, 6, tmp_path).scop)
    apart, together = loops_apart_and_together(schedule, monkeypatch)
    assert apart == together
    assert len(apart) == 6


def test_neighbours_have_one_condition_where_it_is_on_sizes():
    size, value = Param("n", DType.INT64), Symbol("x", DType.INT64)
    for found, count in ((size, 1), (value, 2)):
        positive = Compare(CompareOp.GT, found, Const(0, DType.INT64))
        target = Load("a", (), DType.INT64)
        body = tuple(If(positive, (Assign(target, Const(k, DType.INT64), ""),)) for k in (1, 2))
        joined = lower_scop._joined(body)
        assert len(joined) == count
        assert sum(len(node.then) for node in joined if isinstance(node, If)) == 2


@pytest.mark.parametrize("numbers", [(40, 80), (110, 220)], ids=["whole", "in pieces"])
def test_work_grows_with_the_statements_where_each_has_sizes_of_its_own(numbers, tmp_path):
    """Programs of a hundred statements are proven in pieces, which costs a tenth more."""
    operations = []
    for number in numbers:
        budget = Budget(300.0)
        program = program_of("stencils", number, tmp_path)
        compile_program(program, Options(schedule="source"), MACHINE, budget=budget)
        operations.append(budget.costs["compiling"].operations)
    one, twice = operations
    assert twice <= 2.2 * one
