"""Amounts with formulas, ranges of subscripts."""

from __future__ import annotations

import sympy

from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Iter, Load, Param, integer
from polyopt.ir.types import DType
from polyopt.model.amount import Amount, amount, product, total
from polyopt.model.ranges import Range, holds, point, range_of

N = sympy.Symbol("n")
SIZE = Amount(100, N)
I, J, P = Iter("i"), Iter("j"), Param("n")


def _int(op: BinaryOp, left: object, right: object) -> Binary:
    return Binary(op, left, right, DType.INT64)


def _range(expr: object, **ranges: Range) -> tuple[float, float] | None:
    found = range_of(expr, {"n": point(SIZE), **ranges})
    return None if found is None else (found.low.value, found.high.value)


def test_amounts_keep_their_formula():
    found = total([SIZE * 2, amount(3)]) * product([SIZE, amount(1)]) / 4 - 1
    assert found.value == (203 * 100) / 4 - 1
    assert sympy.simplify(found.formula - ((2 * N + 3) * N / 4 - 1)) == 0
    assert min(SIZE, amount(7)).formula == 7
    assert max(SIZE, amount(7)).formula == N
    assert (SIZE / 0).value == 0


def test_subscripts_run_through_ranges():
    i, j = Range(amount(2), amount(9)), Range(amount(0), SIZE)
    assert _range(_int(BinaryOp.ADD, I, J), i=i, j=j) == (2, 109)
    assert _range(_int(BinaryOp.SUB, I, J), i=i, j=j) == (-98, 9)
    assert _range(_int(BinaryOp.MUL, integer(-3), I), i=i) == (-27, -6)
    assert _range(_int(BinaryOp.MIN, I, P), i=i) == (2, 9)
    assert _range(_int(BinaryOp.MAX, I, P), i=i) == (100, 100)
    assert _range(_int(BinaryOp.MOD, I, integer(4)), i=i) == (0, 3)
    assert _range(_int(BinaryOp.MOD, I, integer(16)), i=i) == (2, 9)
    assert _range(Load("x", (I,), DType.INT64), i=i) is None
    assert _range(Iter("k")) is None


def test_tiles_are_counted_with_their_fraction():
    last = _int(BinaryOp.SUB, P, integer(1))
    counted = _int(BinaryOp.ADD, _int(BinaryOp.FLOORDIV, last, integer(32)), integer(1))
    found = range_of(counted, {"n": point(SIZE)})
    assert found is not None
    assert found.high.value == 100 / 32
    assert sympy.simplify(found.high.formula - N / 32) == 0


def test_conditions_in_the_middle():
    ranges = {"n": point(SIZE), "i": Range(amount(0), amount(40))}
    below = Compare(CompareOp.LT, I, integer(21))
    above = Compare(CompareOp.GE, I, P)
    data = Compare(CompareOp.EQ, Load("x", (), DType.INT64), I)
    assert holds(below, ranges) is True
    assert holds(above, ranges) is False
    assert holds(data, ranges) is None
    assert holds(Binary(BinaryOp.AND, data, above, DType.BOOL), ranges) is False
    assert holds(Binary(BinaryOp.OR, data, below, DType.BOOL), ranges) is True
    assert holds(Binary(BinaryOp.AND, data, below, DType.BOOL), ranges) is None
