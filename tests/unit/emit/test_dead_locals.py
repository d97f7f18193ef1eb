"""Locals that nobody reads are removed, and loops around nothing."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.emit.dead_locals import remove_dead_locals
from polyopt.ir.loops import Assign, Declare, If, SetLocal, While
from polyopt.ir.nodes import all_nodes
from polyopt.pipeline import compile_program
from polyopt.targets import Options, Target, detect_machine
from tests.unit.emit.kernels import F64, array, at, function, loop
from tests.unit.proof.edits import local, number, program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

ARRAYS = (array("A", "N"), array("B", "N"))
KEPT = Assign(at("A", "i"), number(2.0), "S0")
IDLE = Declare("x", F64, 1, at("B", "i"), "S1")


def body_of(*inside):
    """Return what is left of a loop over `inside`."""
    return remove_dead_locals(function("f", ARRAYS, ("N",), loop("i", 0, "N", *inside))).body


def test_dead_locals_are_removed():
    assert body_of(IDLE, KEPT) == (loop("i", 0, "N", KEPT),)
    assert body_of(IDLE) == ()
    assert body_of(If(at("B", "i"), (IDLE,)), KEPT) == (loop("i", 0, "N", KEPT),)


def test_operands_of_dead_locals_are_removed():
    assert body_of(IDLE, Declare("y", F64, 1, local("x")), KEPT) == (loop("i", 0, "N", KEPT),)


@pytest.mark.parametrize(
    "inside",
    [
        (IDLE, Assign(at("A", "i"), local("x"), "S0")),
        (IDLE, SetLocal("x", F64, 1, number(1.0)), KEPT),
        (While(at("B", "i"), (IDLE,)), KEPT),
    ],
)
def test_live_locals_stay(inside):
    (found,) = body_of(*inside)
    if not isinstance(inside[0], While):
        assert found == loop("i", 0, "N", *inside)
    assert len(found.body) == len(inside)


def lines(u: po.f64["N,M"]):
    q = np.zeros((u.shape[0], u.shape[1]))
    for i in range(u.shape[0]):
        q[i, 0] = u[i, 0]
        for j in range(1, u.shape[1]):
            q[i, j] = u[i, j] / (q[i, j - 1] + 2.0)
        for j in range(u.shape[1]):
            u[i, j] -= q[i, j]


@pytest.mark.machine
@pytest.mark.parametrize("target", [Target.C, Target.CUDA])
def test_zeros_that_are_overwritten_take_no_loops(target):
    """They are proven to be dead; neither the loops that are certified nor the text have them."""
    found = compile_program(program_of(lines), Options(target=target), detect_machine())
    assert not found.dropped
    assert not any(getattr(n, "statement", "") == "S0" for n in all_nodes(found.loops.body))
    assert "q_1 = 0.0" not in found.source.text


def test_a_statement_goes_with_all_its_instances_or_stays():
    """The proof shows of whole statements that nothing reads their values."""
    other = Declare("z", F64, 1, at("B", "i"), "S1")
    read = Assign(at("A", "i"), local("z"), "S0")
    assert body_of(IDLE, other, read) == (loop("i", 0, "N", IDLE, other, read),)
    assert body_of(IDLE, replace(other, statement="S2"), read) == (
        loop("i", 0, "N", replace(other, statement="S2"), read),
    )
