"""Loops that lanes share may do nothing but choose an extremum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace as changed
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Const, Expr, Select
from polyopt.ir.extremum import extremum_of
from polyopt.ir.loops import Assign, Declare, For, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.nodes import all_nodes
from tests.unit.proof.edits import F64, I, edited, element, faults, local, loops_of, number

# ruff: noqa: F821, UP037 - sizes are named by strings


def highest(x: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = x[i] if x[i] > top else top
    out[0] = top


def added(x: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = x[i] + top
    out[0] = top


def noting(x: po.f64["N"], y: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = x[i] if x[i] > top else top
        y[i] = top
    out[0] = top


def keeping_nan(x: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = np.maximum(top, x[i])
    out[0] = top


def left_on_true(x: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = top if top > x[i] else x[i]
    out[0] = top


def every_other(x: po.f64["N"], out: po.f64[1]):
    top = out[0]
    for i in range(0, x.shape[0], 2):
        top = x[i] if x[i] > top else top
    out[0] = top


def optimized(function: Callable[..., object]) -> LoopFunction:
    return loops_of(function, optimized=True)


def marked(function: LoopFunction) -> LoopFunction:
    """Return the loops with the innermost ones as extrema, whatever they are."""

    def change(node: Node) -> Node:
        return replace(node, kind=LoopKind.EXTREMUM) if isinstance(node, For) else node

    return replace(function, body=edited(function.body, change))


def kinds(function: LoopFunction) -> set[LoopKind]:
    return {node.kind for node in all_nodes(function.body) if isinstance(node, For)}


def test_a_chain_of_choices_is_proven_to_be_in_order():
    loops = optimized(highest)
    assert kinds(loops) == {LoopKind.EXTREMUM}
    assert not faults(highest, loops)


@pytest.mark.parametrize("function", [added, noting, keeping_nan, left_on_true, every_other])
def test_no_pass_takes_other_loops_and_the_proof_refuses_them(function):
    loops = optimized(function)
    assert LoopKind.EXTREMUM not in kinds(loops)
    assert not faults(function, loops)
    (fault,) = faults(function, marked(loops))
    assert "more than choose an extremum" in fault.reason


M, X = local("m"), element("x", I)


def choosing(sign: CompareOp, left: Expr, right: Expr, fresh: Expr, *before: Node) -> For:
    value = Select(Compare(sign, left, right), fresh, M, F64)
    update = SetLocal("m", F64, 1, value)
    loop = next(n for n in all_nodes(optimized(highest).body) if isinstance(n, For))
    return changed(loop, body=(*before, update))


TWICE = Binary(BinaryOp.MUL, X, number(2.0), F64)
T = local("t")


@pytest.mark.parametrize(
    ("loop", "op"),
    [
        (choosing(CompareOp.GT, X, M, X), BinaryOp.MAX),
        (choosing(CompareOp.GE, X, M, X), BinaryOp.MAX),
        (choosing(CompareOp.LT, M, X, X), BinaryOp.MAX),
        (choosing(CompareOp.LT, X, M, X), BinaryOp.MIN),
        (choosing(CompareOp.GT, T, M, T, Declare("t", F64, 1, TWICE)), BinaryOp.MAX),
        (choosing(CompareOp.EQ, X, M, X), None),
        (choosing(CompareOp.GT, X, M, TWICE), None),
        (choosing(CompareOp.GT, X, X, X), None),
        (choosing(CompareOp.GT, T, M, T, Declare("t", F64, 1, M)), None),
        (choosing(CompareOp.GT, T, M, T, SetLocal("t", F64, 1, X)), None),
        (choosing(CompareOp.GT, X, M, X, Declare("m", F64, 1, Const(0.0, F64))), None),
        (choosing(CompareOp.GT, X, M, X, Assign(element("x", I), X)), None),
        (changed(choosing(CompareOp.GT, X, M, X), step=2), None),
        (choosing(CompareOp.GT, X, M, X).annotated(reductions=((BinaryOp.MAX, M),)), None),
        (changed(choosing(CompareOp.GT, X, M, X), body=()), None),
    ],
)
def test_the_form_of_an_extremum(loop, op):
    found = extremum_of(loop)
    assert (None if found is None else found.op) == op
