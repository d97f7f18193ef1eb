"""A statement's value, operation by operation; its conditions; its index arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Call, Cast, Expr, Load, MathFunc, add, integer, sub
from polyopt.ir.loops import Assign, Body, If
from polyopt.ir.types import DType
from tests.unit.proof.edits import (
    F64,
    I64,
    I,
    below,
    edited,
    element,
    loops_of,
    number,
    only_loop,
    reasons,
    where,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def mixed(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i] * 0.0 - b[i]


def summed(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        b[i] = b[i] + a[i] * a[i]


def indices(a: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] = i // 2


def guarded(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        if a[i] > 0.0:
            a[i] = -1.0
        if a[i] > 0.0:
            b[i] = 1.0


def counted(c: po.f64["N"]):
    for i in range(c.shape[0]):
        if c[0] > 0.0:
            c[0] = c[0] - c[i]


def cubes(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        if i * i * i < a.shape[0]:
            b[i] = a[i]


def chosen(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        if a[i] > 0.0 or i < 5:
            b[i] = a[i]


ALL = (mixed, summed, indices, guarded, counted, cubes, chosen)
A, B = element("a", I), element("b", I)


@pytest.mark.parametrize("function", ALL, ids=[f.__name__ for f in ALL])
def test_the_source_itself_is_proven(function: object) -> None:
    assert not reasons(function, loops_of(function).body)


def op(kind: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(kind, left, right, F64)


ZERO = op(BinaryOp.MUL, A, number(0.0))


@pytest.mark.parametrize(
    "value",
    [
        op(BinaryOp.SUB, op(BinaryOp.MUL, A, number(-0.0)), B),
        op(BinaryOp.SUB, op(BinaryOp.MUL, number(0.0), A), B),
        op(BinaryOp.SUB, B, ZERO),
        op(BinaryOp.ADD, ZERO, B),
        op(BinaryOp.SUB, ZERO, element("b", add(I, integer(-1)))),
        op(BinaryOp.SUB, number(0.0), B),
        op(BinaryOp.SUB, op(BinaryOp.SUB, ZERO, B), number(0.0)),
        op(BinaryOp.SUB, Cast(Cast(ZERO, DType.FLOAT32), F64), B),
        Call(MathFunc.FMA, (A, number(0.0), B), F64),
    ],
)
def test_other_operations_differ(value: Expr) -> None:
    assert "values of S0" in reasons(mixed, valued(mixed, value)) or "storage" in reasons(
        mixed, valued(mixed, value)
    )


def valued(function: object, value: Expr) -> Body:
    body = loops_of(function).body
    return edited(body, lambda n: replace(n, value=value) if isinstance(n, Assign) else n)


def test_strict_sums_round_twice() -> None:
    assert "rounds once" in reasons(summed, valued(summed, Call(MathFunc.FMA, (A, A, B), F64)))


WIDE = 2**62


@pytest.mark.parametrize(
    ("index", "is_right"),
    [
        (Binary(BinaryOp.FLOORDIV, add(I, integer(-0)), integer(2), I64), True),
        (sub(I, Binary(BinaryOp.FLOORDIV, add(I, integer(1)), integer(2), I64)), True),
        (Binary(BinaryOp.FLOORDIV, add(I, integer(1)), integer(2), I64), False),
        (sub(integer(0), Binary(BinaryOp.FLOORDIV, sub(integer(0), I), integer(2), I64)), False),
        (
            Binary(
                BinaryOp.FLOORDIV,
                Binary(BinaryOp.MUL, I, integer(WIDE), I64),
                integer(2 * WIDE),
                I64,
            ),
            False,
        ),
    ],
    ids=["same", "otherwise", "next", "up", "wide"],
)
def test_index_arithmetic_is_decided(index: Expr, is_right: bool) -> None:
    assert (not reasons(indices, valued(indices, Cast(index, F64)))) is is_right


def scaled(a: po.i64["N"], b: po.i64["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i] * 2 * a[0] ^ b[i]


def times(*factors: Expr) -> Expr:
    product = factors[0]
    for factor in factors[1:]:
        product = Binary(BinaryOp.MUL, product, factor, I64)
    return product


FIRST, HERE, THERE = (
    Load(name, (index,), I64) for name, index in (("a", integer(0)), ("a", I), ("b", I))
)


@pytest.mark.parametrize(
    ("product", "is_right"),
    [
        (times(FIRST, HERE, integer(2)), True),
        (times(integer(2), times(HERE, FIRST)), True),
        (times(HERE, FIRST), False),
        (times(HERE, FIRST, integer(3)), False),
        (times(HERE, HERE, integer(2)), False),
        (times(HERE, FIRST, FIRST, integer(2)), False),
    ],
)
def test_factors_of_integers_may_change_places(product: Expr, is_right: bool) -> None:
    value = Binary(BinaryOp.XOR, product, THERE, I64)
    assert (not reasons(scaled, valued(scaled, value))) is is_right


def test_a_condition_is_tested_where_the_source_tests_it() -> None:
    loop = only_loop(loops_of(guarded).body)
    one, two = loop.body
    assert isinstance(one, If)
    assert isinstance(two, If)
    both = where(one.condition, *one.then, *two.then)
    assert "then changes" in reasons(guarded, (replace(loop, body=(both,)),))


def test_a_condition_is_not_hoisted_over_what_changes_it() -> None:
    loop = only_loop(loops_of(counted).body)
    (inner,) = loop.body
    assert isinstance(inner, If)
    hoisted = where(inner.condition, replace(loop, body=inner.then))
    assert "then changes" in reasons(counted, (hoisted,))


@pytest.mark.parametrize("function", [guarded, cubes, chosen])
def test_a_condition_is_not_dropped(function: object) -> None:
    body = edited(loops_of(function).body, lambda n: n.then if isinstance(n, If) else n)
    assert "runs also where" in reasons(function, body)


@pytest.mark.parametrize("function", [mixed, guarded])
def test_a_condition_is_not_added(function: object) -> None:
    loop = only_loop(loops_of(function).body)
    more = below(number(0.0), element("b", I))
    assert "runs only where" in reasons(function, (replace(loop, body=(where(more, *loop.body),)),))


def test_a_condition_on_indices_may_be_a_bound() -> None:
    body = loops_of(chosen).body
    loop = only_loop(body)
    low = replace(loop, upper=Binary(BinaryOp.MIN, integer(5), loop.upper, I64))
    parts = [low, replace(loop, lower=integer(5))]
    assert not reasons(chosen, tuple(parts))
