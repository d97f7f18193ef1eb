"""Least and greatest values of subscripts and bounds.

In: an INT64 expression, ranges of the iterators in it.  Out: a `Range`, None where data decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Iter,
    Param,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.integers import COMPARISONS
from polyopt.model.amount import ONE, ZERO, Amount, amount


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Numbers from `low` to `high`, both included; a tile that is not full is a part of one."""

    low: Amount
    high: Amount

    @property
    def middle(self) -> Amount:
        """The whole number half-way."""
        return max(((self.low + self.high) / 2).floored(), self.low)

    @property
    def length(self) -> Amount:
        """How many numbers there are."""
        return max(self.high - self.low + ONE, ZERO)


Ranges = Mapping[str, Range]


def point(value: Amount) -> Range:
    """Return the range of one number."""
    return Range(value, value)


def range_of(expr: Expr, ranges: Ranges) -> Range | None:
    """Return the values that the expression may have."""
    match expr:
        case Const(value=int(value)):
            return point(amount(int(value)))
        case Iter(name=name) | Param(name=name) | Symbol(name=name):
            return ranges.get(name)
        case Unary(op=UnaryOp.NEG):
            inner = range_of(expr.operand, ranges)
            return None if inner is None else Range(ZERO - inner.high, ZERO - inner.low)
        case Binary():
            left, right = range_of(expr.left, ranges), range_of(expr.right, ranges)
            if left is None or right is None:
                return None
            return _binary(expr.op, left, right)
        case _:
            return None


def _binary(op: BinaryOp, left: Range, right: Range) -> Range | None:
    match op:
        case BinaryOp.ADD:
            return Range(left.low + right.low, left.high + right.high)
        case BinaryOp.SUB:
            return Range(left.low - right.high, left.high - right.low)
        case BinaryOp.MUL:
            ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            return Range(min(ends), max(ends))
        case BinaryOp.FLOORDIV if right.low.value > 0:
            ends = [_tiles(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
            return Range(min(ends), max(ends))
        case BinaryOp.MOD if right.low.value > 0:
            if left.low.value >= 0 and left.high.value < right.low.value:
                return left
            return Range(ZERO, right.high - ONE)
        case BinaryOp.MIN:
            return Range(min(left.low, right.low), min(left.high, right.high))
        case BinaryOp.MAX:
            return Range(max(left.low, right.low), max(left.high, right.high))
        case _:
            return None


def _tiles(value: Amount, size: Amount) -> Amount:
    """Return the number of the tile that `value` is in, where it is the last one of its tile.

    A loop over `(n + size - 1) // size` tiles has n / size of them: the last one counts as a part.
    """
    if value.value == 0:
        return ZERO
    return (value - size + ONE) / size


def holds(condition: Expr, ranges: Ranges) -> bool | None:
    """Tell whether a condition holds in the middle of the ranges; None where data decides."""
    match condition:
        case Binary(op=BinaryOp.AND | BinaryOp.OR):
            sides = [holds(side, ranges) for side in (condition.left, condition.right)]
            decides = condition.op is BinaryOp.OR
            if decides in sides:
                return decides
            return None if None in sides else not decides
        case Compare():
            left, right = (range_of(side, ranges) for side in (condition.left, condition.right))
            if left is None or right is None:
                return None
            return bool(COMPARISONS[condition.op](left.middle.value, right.middle.value))
        case _:
            return None
