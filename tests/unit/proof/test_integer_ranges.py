"""Elements at a counted place: proven where the count cannot pass the extent, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Cast, Compare, CompareOp, Expr, Select, add, integer
from polyopt.ir.loops import (
    Assign,
    Body,
    Break,
    Declare,
    Fail,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.proof import Verdict
from polyopt.proof.bounds import check_bounds
from polyopt.proof.certification import context_of
from tests.unit.proof.edits import (
    I64,
    SIZE,
    I,
    below,
    element,
    local,
    loops_of,
    number,
    program_of,
    where,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def plain(a: po.f64["N"], k: po.i64["N"]):
    for i in range(a.shape[0]):
        a[i] = a[i] + float(k[i])


LOOPS = loops_of(plain)
C, ONE = local("c", I64), integer(1)
FLAG = Compare(CompareOp.GT, element("a", I), number(0.0))  # whether an element is counted


def is_proven(*body: Node) -> bool:
    """Tell whether all elements of `a` that `body` touches are known to exist."""
    program = program_of(plain)
    given = {array.name: array for array in program.arrays}
    claims = check_bounds(replace(LOOPS, body=body), given, LOOPS.params, context_of(program))
    return all(claim.verdict is Verdict.PROVEN for claim in claims if claim.subject == "a")


def loop(*body: Node, upper: Expr = SIZE, iterator: str = "i") -> For:
    return For(iterator, integer(0), upper, 1, LoopKind.SEQUENTIAL, body)


def start(value: Expr) -> Node:
    return Declare("c", I64, 1, value)


def count(step: Expr = ONE, op: BinaryOp = BinaryOp.ADD) -> Node:
    return SetLocal("c", I64, 1, Binary(op, C, step, I64))


def use(index: Expr) -> Node:
    return Assign(element("a", index), number(0.0))


ZERO = start(integer(0))
BIT = Cast(FLAG, I64)
FULL = below(integer(0), SIZE)


@pytest.mark.parametrize(
    "body",
    [
        (ZERO, loop(use(C), count(BIT))),
        (ZERO, loop(use(C), count())),
        (ZERO, loop(where(FLAG, use(C), count()))),
        (ZERO, loop(count(), use(add(C, integer(-1))))),
        (ZERO, loop(use(C), count(Select(FLAG, ONE, integer(0), I64)))),
        (ZERO, loop(If(FLAG, (count(),), ()), where(below(C, SIZE), use(C)))),
        (ZERO, where(FULL, loop(use(C), count())), where(below(C, SIZE), use(C))),
        (start(SIZE), loop(count(ONE, BinaryOp.SUB), use(C))),
        (start(integer(2)), loop(use(add(C, integer(-2))), count())),
        (ZERO, loop(where(FLAG, Break()), use(C), count())),
        (ZERO, loop(count()), Declare("d", I64, 1, C), loop(use(I), upper=local("d", I64))),
        (
            ZERO,
            loop(count(BIT)),
            Declare("d", I64, 1, C),
            where(below(local("d", I64), ONE), Fail(0)),
            use(integer(0)),
        ),
        (loop(ZERO, loop(use(C), count(), iterator="j")),),
    ],
)  # fmt: skip
def test_what_was_counted_has_a_place(body: Body) -> None:
    assert is_proven(*body)


@pytest.mark.parametrize(
    "body",
    [
        (ZERO, loop(count(BIT), use(C))),
        (ZERO, loop(use(C), count(integer(2)))),
        (ZERO, loop(use(C), count(), count(BIT))),
        (ZERO, loop(use(C), where(FLAG, count()), count())),
        (start(ONE), loop(use(C), count())),
        (start(integer(-1)), loop(use(C), count())),
        (ZERO, loop(use(C), count(ONE, BinaryOp.SUB))),
        (ZERO, loop(use(C), loop(count(), iterator="j"))),
        (ZERO, loop(loop(use(C), count(), iterator="j"))),
        (ZERO, loop(use(C), count(), upper=add(SIZE, ONE))),
        (ZERO, loop(use(C), SetLocal("c", I64, 1, element("k", I, dtype=I64)))),
        (ZERO, loop(use(C), count(element("k", I, dtype=I64)))),
        (ZERO, loop(count()), use(C)),
        (ZERO, While(FLAG, (count(),)), loop(use(C), count())),
        (ZERO, where(FLAG, count()), loop(use(C), count())),
        (ZERO, loop(where(FLAG, count(), count(), Break())), where(below(integer(0), C), use(C))),
        (ZERO, replace(loop(use(C), count()), kind=LoopKind.PARALLEL)),
        (ZERO, loop(use(C), count()).annotated(reductions=((BinaryOp.ADD, C),))),
        (
            ZERO,
            loop(count(BIT)),
            Declare("d", I64, 1, C),
            where(below(local("d", I64), integer(0)), Fail(0)),
            use(integer(0)),
        ),
    ],
)  # fmt: skip
def test_a_place_that_may_not_be_there(body: Body) -> None:
    assert not is_proven(*body)
