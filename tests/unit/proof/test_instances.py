"""Every instance of the source runs once, whatever loops run it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, add, integer, mul, sub, substitute
from polyopt.ir.loops import Assign, Body, Break, Fail, For, LoopKind, Node, While
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.types import DType
from polyopt.proof import ClaimKind, Verdict
from tests.unit.proof.edits import (
    I64,
    SIZE,
    I,
    below,
    edited,
    faults,
    loops_of,
    marked,
    only_loop,
    reasons,
    where,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def double(a: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] = a[i] * 2.0


def prefix(a: po.f64["N"]):
    for i in range(1, a.shape[0]):
        a[i] = a[i] + a[i - 1]


def table(a: po.f64["N,M"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 2.0


LOOP = only_loop(loops_of(double).body)
(DOUBLE,) = LOOP.body


def stripped(size: int, width: int) -> For:
    """Return strips `size` apart of `width` iterations each."""
    tile = Iter("t")
    upper = Binary(BinaryOp.MIN, add(mul(integer(size), tile), integer(width)), SIZE, I64)
    inner = replace(LOOP, lower=mul(integer(size), tile), upper=upper)
    count = Binary(BinaryOp.FLOORDIV, add(SIZE, integer(size - 1)), integer(size), I64)
    return For("t", integer(0), count, 1, LoopKind.SEQUENTIAL, (inner,))


def moved(node: Node, names: dict[str, Expr]) -> Node:
    return changed(node, lambda e: substitute(e, names) if isinstance(e, Iter) else None)


@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ((LOOP,), True),
        ((stripped(4, 4),), True),
        ((stripped(4, 3),), False),
        ((stripped(4, 5),), False),
        ((replace(LOOP, step=2),), False),
        ((replace(LOOP, step=2), replace(LOOP, lower=integer(1), step=2)), True),
        ((replace(LOOP, step=2), replace(LOOP, lower=integer(1), step=3)), False),
        ((replace(LOOP, lower=integer(1)),), False),
        ((replace(LOOP, upper=sub(SIZE, integer(1))),), False),
        ((replace(LOOP, body=(DOUBLE, DOUBLE)),), False),
        ((LOOP, LOOP), False),
        ((replace(LOOP, body=(where(below(I, integer(9)), DOUBLE),)),), False),
        ((where(below(integer(0), SIZE), LOOP),), True),
        ((where(below(integer(1), SIZE), LOOP),), False),
        ((), False),
        ((While(Const(False, DType.BOOL), (LOOP,)),), False),
        ((Fail(0), LOOP), False),
        ((where(below(SIZE, integer(5)), Fail(0)), LOOP), False),
        ((replace(LOOP, body=(DOUBLE, where(below(integer(5), I), Break()))),), False),
        ((replace(LOOP, body=(moved(DOUBLE, {"i": sub(sub(SIZE, I), integer(1))}),)),), True),
        ((replace(LOOP, body=(moved(DOUBLE, {"i": sub(SIZE, I)}),)),), False),
    ],
)
def test_every_instance_runs_once(body: Body, is_right: bool) -> None:
    assert (not reasons(double, body)) is is_right


def test_what_is_wrong_is_named() -> None:
    short = replace(LOOP, upper=sub(SIZE, integer(1)))
    assert "S0[0] at N=1 does not run" in reasons(double, (short,))
    assert "runs in two iterations" in reasons(double, (LOOP, LOOP))


@pytest.mark.parametrize("tag", [add(I, integer(1)), integer(0)])
def test_a_tag_says_which_instance_it_is(tag: Expr) -> None:
    body = edited((LOOP,), lambda n: replace(n, instance=(tag,)) if isinstance(n, Assign) else n)
    assert reasons(double, body)


def test_a_statement_that_the_source_does_not_have() -> None:
    body = edited((LOOP,), lambda n: replace(n, statement="S7") if isinstance(n, Assign) else n)
    assert reasons(double, body)


@pytest.mark.parametrize(
    "steps",
    [
        "tile(L0, 4, 3)",
        "skew(j, i, 2); tile(L0, 3, 5)",
        "tile(L0, 8, 8); tile(L0.point, 2, 4)",
        "reverse(i); strip(j, 7)",
        "interchange(i, j); skew(i, j, -1); strip(i, 4)",
        "tile(L0, 4, 4); separate(L0.tile, L0.point, 4, 4)",
    ],
)
def test_tiles_of_all_kinds(steps: str) -> None:
    """What the coordinates of tiles are is read off the loops, and wrong ones are noticed."""
    loops = loops_of(table, steps)
    assert not faults(table, loops)
    inner = [n for n in all_nodes(loops.body) if isinstance(n, For)]
    wrong = replace(inner[-1], upper=add(inner[-1].upper, integer(1)))
    body = edited(loops.body, lambda n: wrong if n == inner[-1] else n)
    assert faults(table, replace(loops, body=body))
    wrong = replace(inner[-1], lower=add(inner[-1].lower, integer(1)))
    body = edited(loops.body, lambda n: wrong if n == inner[-1] else n)
    kinds = {claim.kind for claim in faults(table, replace(loops, body=body))}
    assert ClaimKind.INSTANCES in kinds or ClaimKind.ORDER in kinds


@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.VECTOR])
def test_a_recurrence_does_not_run_at_once(kind: LoopKind) -> None:
    loops = loops_of(prefix)
    assert not faults(prefix, loops)
    (claim,) = faults(prefix, replace(loops, body=marked(loops.body, "i", kind)))
    assert (claim.kind, claim.verdict) == (ClaimKind.CONCURRENCY, Verdict.REFUTED)


def test_a_recurrence_is_not_reversed() -> None:
    (loop,) = loops_of(prefix).body
    assert isinstance(loop, For)
    body = tuple(moved(node, {"i": sub(SIZE, I)}) for node in loop.body)
    assert "order of loop i" in reasons(prefix, (replace(loop, body=body),))
