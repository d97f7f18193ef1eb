# ruff: noqa: F821, UP037 - sizes are named by strings
"""Subscripts that are used as they are behind their tests: wrong tests and other uses are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    add,
    children,
    integer,
    with_children,
)
from polyopt.ir.loops import Assign, Body, Declare, Fail, If, LoopFunction, Node, updated
from polyopt.ir.nodes import all_nodes, map_bodies, own_changed
from polyopt.ir.types import DType
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from tests.unit.proof.edits import MACHINE, program_of


def counted(idx: po.i64["N"], w: po.f64["N"], h: po.f64["M"]):
    for i in range(idx.shape[0]):
        h[idx[i]] += w[i]


def summed(col: po.i64["N,K"], a: po.f64["N,K"], x: po.f64["M"], y: po.f64["N"]):
    for i in range(a.shape[0]):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * x[col[i, k]]
        y[i] = s


def relaxed(src: po.i64["E"], dst: po.i64["E"], w: po.f64["E"], d: po.f64["N"]):
    for e in range(src.shape[0]):
        if d[src[e]] + w[e] < d[dst[e]]:
            d[dst[e]] = d[src[e]] + w[e]


def around(x: po.f64["N"], g: po.f64["A,B"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        k = int(x[i] * 4.0)
        if 0 <= k < g.shape[0] - 1:
            out[i] = g[k, 0] + g[k + 1, 1]


def pulled(pick: po.i64["N"], a: po.f64["M,K"], b: po.f64["N,K"]):
    for i in range(pick.shape[0]):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[pick[i], k] * b[i, k]
        for k in range(a.shape[1]):
            a[pick[i], k] -= s * b[i, k]


PROGRAMS = [counted, summed, relaxed, around, pulled]
TESTED = [counted, summed, relaxed, pulled]


def optimized(function: Callable[..., object]) -> LoopFunction:
    program = program_of(function)
    return optimize_loops(lower(source_schedule(program.scop), program), MACHINE, "strict")


def edited(function: Callable[..., object], change: Callable[[Node], Body]) -> bool:
    """Tell whether loops are proven after a change of one node, which there has to be."""

    def inside(body: Body) -> Body:
        found: list[Node] = []
        for node in body:
            new = (node,) if changes else change(node)
            if new != (node,):
                changes.append(node)
            found += (map_bodies(part, inside) for part in new)
        return tuple(found)

    changes: list[Node] = []
    loops = optimized(function)
    body = inside(loops.body)
    assert changes
    return certify(program_of(function), replace(loops, body=body)).is_proven


def fails(node: Node) -> bool:
    return isinstance(node, If) and len(node.then) == 1 and isinstance(node.then[0], Fail)


def compares(expr: Expr, old: CompareOp, change: Callable[[Compare], Expr]) -> Expr:
    """Return an expression with its first comparison of a kind changed."""
    if isinstance(expr, Compare) and expr.op is old:
        return change(expr)
    parts = list(children(expr))
    for n, part in enumerate(parts):
        new = compares(part, old, change)
        if new != part:
            return with_children(expr, (*parts[:n], new, *parts[n + 1 :]))
    return expr


def kept_inside(body: Body) -> bool:
    """Tell whether a subscript of an access is a minimum or maximum."""
    accesses = [
        part
        for node in all_nodes(body)
        if isinstance(node, Assign)
        for expr in (node.target, node.value)
        for part in walk_all(expr)
        if isinstance(part, Load)
    ]
    return any(
        isinstance(inner, Binary) and inner.op in (BinaryOp.MIN, BinaryOp.MAX)
        for access in accesses
        for index in access.index
        for inner in walk_all(index)
    )


def walk_all(expr: Expr) -> list[Expr]:
    return [expr, *(inner for part in children(expr) for inner in walk_all(part))]


@pytest.mark.parametrize("function", PROGRAMS)
def test_accesses_are_plain_and_proven(function):
    loops = optimized(function)
    assert not kept_inside(loops.body)
    assert certify(program_of(function), loops).is_proven


@pytest.mark.parametrize("function", TESTED)
def test_a_kernel_leaves_where_a_subscript_is_outside(function):
    assert any(map(fails, all_nodes(optimized(function).body)))


@pytest.mark.parametrize("function", TESTED)
def test_a_test_that_is_left_out_is_found(function):
    assert not edited(function, lambda node: () if fails(node) else (node,))


@pytest.mark.parametrize("function", TESTED)
def test_a_test_that_goes_on_is_found(function):
    assert not edited(function, lambda node: (updated(node, then=()),) if fails(node) else (node,))


@pytest.mark.parametrize("function", TESTED)
def test_a_wrong_end_is_found(function):
    def above(node: Node) -> Body:
        if not isinstance(node, If) or not fails(node):
            return (node,)
        condition = compares(node.condition, CompareOp.GE, lambda c: replace(c, op=CompareOp.GT))
        return (updated(node, condition=condition),)

    def below(node: Node) -> Body:
        if not isinstance(node, If) or not fails(node):
            return (node,)
        condition = compares(node.condition, CompareOp.LT, lambda c: replace(c, right=integer(-1)))
        return (updated(node, condition=condition),)

    assert not edited(function, above)
    assert not edited(function, below)


@pytest.mark.parametrize("function", TESTED)
def test_a_test_of_one_end_is_found(function):
    def half(node: Node) -> Body:
        if not isinstance(node, If) or not fails(node):
            return (node,)
        never = Const(False, DType.BOOL)
        return (updated(node, condition=compares(node.condition, CompareOp.GE, lambda _: never)),)

    assert not edited(function, half)


@pytest.mark.parametrize("function", TESTED)
def test_a_test_behind_its_use_is_found(function):
    def late(body: Body) -> Body:
        tests = tuple(node for node in body if fails(node))
        rest = tuple(map_bodies(node, late) for node in body if not fails(node))
        return (*rest, *tests)

    loops = optimized(function)
    moved = replace(loops, body=late(loops.body))
    assert moved.body != loops.body
    assert not certify(program_of(function), moved).is_proven


@pytest.mark.parametrize("function", TESTED)
def test_another_subscript_is_found(function):
    def next_one(node: Node) -> Body:
        if not isinstance(node, Declare) or node.dtype is not DType.INT64:
            return (node,)
        return (replace(node, value=add(node.value, integer(1))),)

    assert not edited(function, next_one)


def test_an_element_behind_the_tested_one_is_found():
    def stale(node: Node) -> Body:
        if isinstance(node, Assign) and isinstance(node.target, Load) and node.target.array == "h":
            moved = (add(node.target.index[0], integer(1)),)
            return (replace(node, target=replace(node.target, index=moved)),)
        return (node,)

    assert not edited(counted, stale)


def test_a_condition_that_lets_too_much_in_is_found():
    def wider(node: Node) -> Body:
        if not isinstance(node, If) or fails(node):
            return (node,)

        def more(c: Compare) -> Expr:
            return replace(c, right=add(c.right, integer(1)))

        changed = own_changed(node, lambda e: compares(e, CompareOp.LT, more))
        return (changed,)

    assert not edited(around, wider)
