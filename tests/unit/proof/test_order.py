"""Loops keep the order of every pair that conflicts: by enumeration where it is decided exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Symbol,
    add,
    integer,
    mul,
    sub,
)
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import Body, For, If, LoopKind, SetLocal
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.types import DType
from tests.unit.proof.edits import I64, SIZE, I, edited, loops_of, marked, only_loop, reasons

# ruff: noqa: F821, UP037 - sizes are named by strings


def before(a: po.f64["N"]):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] * 0.5 + a[i]


def after(a: po.f64["N"]):
    for i in range(a.shape[0] - 1):
        a[i] = a[i + 1] * 0.5 + a[i]


def far(a: po.f64["N"]):
    for i in range(a.shape[0]):
        if i >= 4:
            a[i] = a[i - 4] * 0.5 + a[i]


def plane(a: po.f64["N,N"]):
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[0]):
            a[i, j] = a[i - 1, j] * 0.5 + a[i, j - 1]


def anti(a: po.f64["N,N"]):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[0] - 1):
            a[i, j] = a[i - 1, j + 1] * 0.5 + a[i, j]


def apart(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            a[i, j] = a[i, j] * 0.5 + 1.0


def chain(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] = a[i] * 0.5 + 1.0
    for i in range(a.shape[0]):
        b[i] = a[i] + b[i]


ONE_LOOP, TWO_LOOPS = (before, after, far), (plane, anti, apart)


def with_index(body: Body, values: dict[str, Expr]) -> Body:
    """Return `body` with iterators replaced."""
    return tuple(
        changed(n, lambda e: values.get(e.name) if isinstance(e, Iter) else None) for n in body
    )


def backwards(loop: For) -> Body:
    """Return the iterations of `loop` in reverse."""
    last = sub(add(loop.lower, loop.upper), integer(1))
    return (replace(loop, body=with_index(loop.body, {loop.iter: sub(last, Iter(loop.iter))})),)


def strides(loop: For, by: int) -> Body:
    """Return all iterations of one remainder, then all of the next."""
    inner = replace(loop, lower=add(loop.lower, Iter("p")), step=by)
    return (For("p", integer(0), integer(by), 1, LoopKind.SEQUENTIAL, (inner,)),)


def interchanged(loop: For) -> Body:
    (inner,) = loop.body
    assert isinstance(inner, For)
    return (replace(inner, body=(replace(loop, body=inner.body),)),)


def skewed(loop: For) -> Body:
    """Return the diagonals of a nest, one after the other."""
    (inner,) = loop.body
    assert isinstance(inner, For)
    moved = with_index(inner.body, {"i": Iter("i"), "j": sub(Iter("d"), I)})
    low = Binary(BinaryOp.MAX, loop.lower, sub(add(Iter("d"), integer(1)), inner.upper), I64)
    high = Binary(BinaryOp.MIN, loop.upper, add(sub(Iter("d"), inner.lower), integer(1)), I64)
    rows = replace(loop, lower=low, upper=high, body=moved)
    end = sub(add(loop.upper, inner.upper), integer(1))
    return (For("d", add(loop.lower, inner.lower), end, 1, LoopKind.SEQUENTIAL, (rows,)),)


def results(function: object, body: Body, size: int) -> np.ndarray:
    """Return what the loops compute, interpreted."""
    loops = replace(loops_of(function), body=body)
    shape = tuple(size for _ in loops.arrays[0].shape)
    a = np.random.default_rng(3).random(shape)
    arrays = {"a": a, "b": a + 1.0}
    names = {array.name for array in loops.arrays}
    sizes = dict.fromkeys(loops.params, size)
    run_loops(loops, {n: v for n, v in arrays.items() if n in names}, sizes, {})
    return np.concatenate([arrays[name].ravel() for name in sorted(names)])


ORDERS = [
    *product(ONE_LOOP, (backwards, lambda loop: strides(loop, 2), lambda loop: strides(loop, 4))),
    *product(TWO_LOOPS, (backwards, interchanged, skewed)),
]


@pytest.mark.parametrize(("function", "order"), ORDERS)
def test_an_order_is_proven_where_results_are_the_same(function: object, order: object) -> None:
    body = order(only_loop(loops_of(function).body))
    given = loops_of(function).body
    same = all(
        np.array_equal(results(function, given, n), results(function, body, n)) for n in range(11)
    )
    found = reasons(function, body)
    assert (not found) is same, found
    assert same or "order of" in found


@pytest.mark.parametrize(
    ("function", "name", "is_parallel"),
    [
        (before, "i", False),
        (after, "i", False),
        (far, "i", False),
        (plane, "i", False),
        (plane, "j", False),
        (anti, "i", False),
        (anti, "j", True),
        (apart, "i", True),
        (apart, "j", True),
    ],
)
@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.VECTOR])
def test_a_loop_runs_at_once_that_carries_no_pair(
    function: object, name: str, is_parallel: bool, kind: LoopKind
) -> None:
    found = reasons(function, marked(loops_of(function).body, name, kind))
    assert (not found) is is_parallel
    assert is_parallel or f"concurrency of loop {name}" in found


def test_diagonals_run_at_once() -> None:
    (body,) = skewed(only_loop(loops_of(plane).body))
    assert not reasons(plane, marked((body,), "i", LoopKind.PARALLEL))
    assert "concurrency of loop d" in reasons(plane, marked((body,), "d", LoopKind.PARALLEL))


def test_lanes_within_the_distance_of_a_pair() -> None:
    loop = only_loop(loops_of(far).body)

    def tiled(width: int) -> Body:
        start = mul(integer(width), Iter("t"))
        high = Binary(BinaryOp.MIN, loop.upper, add(start, integer(width)), I64)
        low = Binary(BinaryOp.MAX, loop.lower, start, I64)
        inner = replace(loop, lower=low, upper=high, kind=LoopKind.VECTOR)
        tiles = Binary(BinaryOp.FLOORDIV, add(SIZE, integer(width - 1)), integer(width), I64)
        return (For("t", integer(0), tiles, 1, LoopKind.SEQUENTIAL, (inner,)),)

    assert not reasons(far, tiled(4))
    assert "concurrency" in reasons(far, tiled(5))


def test_the_order_of_loops_and_of_statements_in_one() -> None:
    one, two = (n for n in loops_of(chain).body if isinstance(n, For))
    assert "order of statements" in reasons(chain, (two, one))
    fused = replace(one, body=(*one.body, *two.body))
    assert not reasons(chain, (fused,))
    assert not reasons(chain, marked((fused,), "i", LoopKind.PARALLEL))
    assert "order of" in reasons(chain, (replace(one, body=(*two.body, *one.body)),))


@pytest.mark.parametrize(("distance", "is_right"), [(-2, True), (-1, True), (0, True), (1, False)])
def test_the_second_loop_behind_the_first(distance: int, is_right: bool) -> None:
    """In one loop, the second statement may be late but not early."""
    one, two = (n for n in loops_of(chain).body if isinstance(n, For))
    place = add(I, integer(distance))
    moved = with_index(two.body, {"i": place})
    both = (If(inside(I), one.body), If(inside(place), moved))
    wide = replace(one, lower=integer(-3), upper=add(SIZE, integer(3)), body=both)
    found = reasons(chain, (wide,))
    assert (not found) is is_right, found
    assert is_right or "order of" in found


def inside(place: Expr) -> Expr:
    first, last = (Compare(op, place, end) for op, end in
                   ((CompareOp.GE, integer(0)), (CompareOp.LT, SIZE)))  # fmt: skip
    return Binary(BinaryOp.AND, first, last, DType.BOOL)


def products(a: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"]):
    y += a @ x


ROWS_AT_ONCE = """
tile(L1, 4); interchange(L1.point[0], L1.point[1]); vectorize(L1.point[0])
unroll(L1.point[1]); separate(L1.tile, L1.point, 4)
"""


def test_lanes_sum_up_several_rows() -> None:
    """Each row has a local of its own, and every one of them is combined."""
    body = loops_of(products, ROWS_AT_ONCE, optimized=True).body
    (lanes,) = (n for n in all_nodes(body) if isinstance(n, For) and len(n.reductions) == 4)
    assert not reasons(products, body)

    def with_reductions(*found: tuple[BinaryOp, Symbol]) -> str:
        other = lanes.annotated(reductions=found)
        return reasons(products, edited(body, lambda node: other if node == lanes else node))

    assert "concurrency" in with_reductions(*lanes.reductions[:3])
    product_of_one = (BinaryOp.MUL, lanes.reductions[3][1])
    assert "more than combine" in with_reductions(*lanes.reductions[:3], product_of_one)


def test_lanes_may_not_share_a_row() -> None:
    """Two rows are added to one local: these instances are in each other's way."""
    body = loops_of(products, ROWS_AT_ONCE, optimized=True).body
    (lanes,) = (n for n in all_nodes(body) if isinstance(n, For) and len(n.reductions) == 4)
    one, two = (symbol for _, symbol in lanes.reductions[:2])

    mixed = [
        replace(n, name=one.name) if isinstance(n, SetLocal) and n.name == two.name else n
        for n in (changed(n, lambda part: one if part == two else None) for n in lanes.body)
    ]
    other = replace(lanes, body=tuple(mixed))
    assert reasons(products, edited(body, lambda node: other if node == lanes else node))
