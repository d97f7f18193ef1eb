"""Names and types: what the loops call by the program's names is what the program means."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import integer, mul
from polyopt.ir.loops import Declare, DeclareArray, LoopFunction, SetLocal
from polyopt.ir.scop import Array, Role
from polyopt.proof.declarations import check_declarations
from tests.unit.proof.edits import (
    F32,
    F64,
    SIZE,
    I,
    element,
    faults,
    local,
    loops_of,
    number,
    only_loop,
    program_of,
    reasons,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def copy(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i]


def scale(a: po.f64["N"], factor: po.f64):
    for i in range(a.shape[0]):
        a[i] = a[i] * factor


LOOPS = loops_of(copy)
LOOP = only_loop(LOOPS.body)
(COPY,) = LOOP.body


def changed_b(**changes: object) -> LoopFunction:
    arrays = (replace(a, **changes) if a.name == "b" else a for a in LOOPS.arrays)
    return replace(LOOPS, arrays=tuple(arrays))


@pytest.mark.parametrize(
    "loops",
    [
        changed_b(dtype=F32),
        changed_b(shape=(mul(integer(2), SIZE),)),
        changed_b(role=Role.TEMP),
        changed_b(name="c"),
        replace(LOOPS, arrays=LOOPS.arrays[:1]),
        replace(LOOPS, arrays=(*LOOPS.arrays, Array("c", F64, (SIZE,), Role.INOUT))),
        replace(LOOPS, arrays=(*LOOPS.arrays, LOOPS.arrays[0])),
        replace(LOOPS, params=("N", "K")),
        replace(LOOPS, signature=replace(LOOPS.signature, nesting="(.)")),
        replace(LOOPS, contract=True),
    ],
    ids=["type", "shape", "role", "name", "one", "more", "twice", "size", "result", "fused"],
)
def test_the_interface_is_the_programs(loops: LoopFunction) -> None:
    assert faults(copy, loops)


def test_the_interface_itself_is_accepted() -> None:
    assert not faults(copy, LOOPS)
    assert not check_declarations(program_of(copy), LOOPS).reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ((Declare("t", F32, 1, COPY.value), replace(COPY, value=local("t"))), "another type"),
        ((Declare("t", F32, 1, COPY.value), replace(COPY, value=local("t", F32))), "another type"),
        ((replace(COPY, value=local("t")),), "no such local"),
        ((SetLocal("t", F64, 1, COPY.value), replace(COPY, value=local("t"))), "no such local"),
        ((replace(COPY, value=element("a", I, I)),), "rank"),
        ((replace(COPY, value=element("a", I, dtype=F32)),), "another type"),
        ((replace(COPY, value=element("c", I)),), "no such array"),
    ],
)
def test_locals_and_accesses_have_their_types(body: tuple, reason: str) -> None:
    assert reason in reasons(copy, (replace(LOOP, body=body),))


def test_an_iterator_is_known_in_its_loop_only() -> None:
    after = replace(COPY, statement="", instance=())
    assert "no such number" in reasons(copy, (LOOP, after))


def test_an_argument_is_neither_set_nor_hidden() -> None:
    body = loops_of(scale).body
    two = Declare("factor", F64, 1, number(2.0))
    assert "it is no local" in reasons(scale, (SetLocal("factor", F64, 1, number(2.0)), *body))
    assert "instead of factor" in reasons(scale, (two, *body))
    assert "instead of factor" in reasons(
        scale, (two, SetLocal("factor", F64, 1, number(3.0)), *body)
    )


def test_an_array_of_the_caller_is_not_hidden() -> None:
    hidden = DeclareArray(Array("b", F64, (integer(64),), Role.TEMP))
    assert "hides another" in reasons(copy, (hidden, *LOOPS.body))
