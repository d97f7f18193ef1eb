"""Ranges of integer expressions as numbers: what Python's exact integers can be.

In: an expression and what is known of its names.  Out: a `Span`, never empty.
An operation of 64 bits or fewer that may leave its type has every value of that type.
Interval arithmetic after Moore, "Interval Analysis", 1966.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.source import LARGEST_SIZE
from polyopt.ir.types import DType, Kind

LEAST, MOST = -(2**63), 2**63 - 1
_DEEPEST = 40
"""How deep an expression is looked at; what lies deeper has any value of its type."""


@dataclass(frozen=True, slots=True)
class Span:
    """`low <= value <= high`."""

    low: int
    high: int

    def within(self, other: Span) -> bool:
        """Whether every value is one of `other`."""
        return other.low <= self.low and self.high <= other.high

    def joined(self, other: Span) -> Span:
        """Return the least span that holds both."""
        return Span(min(self.low, other.low), max(self.high, other.high))

    def clipped(self, other: Span) -> Span:
        """Return the values that lie in both; `other` where there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Span(low, high) if low <= high else other


WORD = Span(LEAST, MOST)
SIZE = Span(0, LARGEST_SIZE)
INDEX = Span(-LARGEST_SIZE, LARGEST_SIZE)
CONVERTED = Span(-(2**62), 2**62)
"""Floats that become Python's integers: what is added afterwards hardly ever needs a check."""
Name: TypeAlias = Iter | Param | Symbol | Load | Cast
Known: TypeAlias = Callable[[Name], Span | None]


def of_type(dtype: DType) -> Span:
    """Return the values of an integer or boolean type; those of 64 bits for any other."""
    if dtype is DType.BOOL:
        return Span(0, 1)
    if not dtype.is_integer:
        return WORD
    bits = 8 * dtype.size
    if dtype.kind is Kind.UNSIGNED:
        return Span(0, 2**bits - 1)
    return Span(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def range_of(expr: Expr, known: Known, depth: int = 0) -> Span:
    """Return what values an integer or boolean expression may have."""
    whole = of_type(expr.dtype)
    if depth > _DEEPEST:
        return whole
    found = _range(expr, known, depth + 1)
    return found if found is not None and found.within(whole) else whole


def may_wrap(expr: Expr, known: Known) -> bool:
    """Tell whether the outermost operation of an integer expression may leave its type."""
    if not isinstance(expr, Unary | Binary) or not expr.dtype.is_integer:
        return False
    found = _range(expr, known, 1)
    return found is None or not found.within(of_type(expr.dtype))


def _range(expr: Expr, known: Known, depth: int) -> Span | None:
    """Return the exact values of the outermost operation, None where nothing is known."""
    match expr:
        case Const(value=bool() | int() as value):
            return Span(int(value), int(value))
        case Iter() | Param() | Symbol() | Load():
            return known(expr)
        case Cast(operand=operand) if operand.dtype.is_integer or operand.dtype is DType.BOOL:
            return range_of(operand, known, depth)
        case Cast():
            return known(expr)
        case Unary(operand=operand) if expr.dtype.is_integer:
            return of_unary(expr.op, range_of(operand, known, depth))
        case Binary(left=left, right=right) if expr.dtype.is_integer:
            return of_binary(expr.op, range_of(left, known, depth), range_of(right, known, depth))
        case Select(then=then, otherwise=otherwise):
            return range_of(then, known, depth).joined(range_of(otherwise, known, depth))
        case _:
            return None


def of_unary(op: UnaryOp, part: Span) -> Span:
    """Return the exact results of a unary operator."""
    match op:
        case UnaryOp.NEG:
            return Span(-part.high, -part.low)
        case UnaryOp.INVERT:
            return Span(~part.high, ~part.low)
        case UnaryOp.ABS:
            least = 0 if part.low <= 0 <= part.high else min(abs(part.low), abs(part.high))
            return Span(least, max(abs(part.low), abs(part.high)))


def of_binary(op: BinaryOp, left: Span, right: Span) -> Span | None:  # noqa: C901  one case each
    """Return the exact results of an operator; None where they are not bounded."""
    match op:
        case BinaryOp.ADD:
            return Span(left.low + right.low, left.high + right.high)
        case BinaryOp.SUB:
            return Span(left.low - right.high, left.high - right.low)
        case BinaryOp.MUL:
            return _corners(left, right, lambda a, b: a * b)
        case BinaryOp.FLOORDIV:
            return _quotient(left, right)
        case BinaryOp.MOD:
            return _remainder(left, right)
        case BinaryOp.MIN:
            return Span(min(left.low, right.low), min(left.high, right.high))
        case BinaryOp.MAX:
            return Span(max(left.low, right.low), max(left.high, right.high))
        case BinaryOp.AND:
            return _masked(left, right)
        case BinaryOp.OR | BinaryOp.XOR:
            return _bits(left, right)
        case BinaryOp.SHL:
            if right.low < 0 or right.high > 63:
                return None
            return _corners(left, right, lambda a, b: a << b)
        case BinaryOp.SHR:
            if right.low < 0:
                return None
            shift = Span(min(right.low, 63), min(right.high, 63))
            return _corners(left, shift, lambda a, b: a >> b)
        case BinaryOp.POW:
            return _power(left, right)
        case _:
            return None


def _corners(left: Span, right: Span, of: Callable[[int, int], int]) -> Span:
    """Return the results of an operator that is monotonic in each operand."""
    found = [of(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Span(min(found), max(found))


def _quotient(left: Span, right: Span) -> Span:
    """Quotients by what is not zero; by zero it is zero, or fails."""
    parts = [Span(right.low, min(right.high, -1)), Span(max(right.low, 1), right.high)]
    results = [_corners(left, part, lambda a, b: a // b) for part in parts if part.low <= part.high]
    result = Span(0, 0) if right.low <= 0 <= right.high else results[0]
    for part in results:
        result = result.joined(part)
    return result


def _remainder(left: Span, right: Span) -> Span:
    low, high = min(right.low + 1, 0), max(right.high - 1, 0)
    if left.low >= 0 and right.low > 0:
        high = min(high, left.high)
    return Span(low, high)


def _masked(left: Span, right: Span) -> Span:
    """`x & m` lies between 0 and `m` where `m` is not negative."""
    tops = [part.high for part in (left, right) if part.low >= 0]
    if tops:
        return Span(0, min(tops))
    return _bits(left, right)


def _bits(left: Span, right: Span) -> Span:
    """Return what as many bits as the operands have can hold."""
    bits = max(_length(value) for part in (left, right) for value in (part.low, part.high))
    low = 0 if left.low >= 0 and right.low >= 0 else -(2**bits)
    return Span(low, 2**bits - 1)


def _length(value: int) -> int:
    return (value if value >= 0 else ~value).bit_length()


def _power(left: Span, right: Span) -> Span | None:
    if right.low < 0 or right.high > 63:
        return None
    largest = max(abs(left.low), abs(left.high)) ** right.high
    largest = max(largest, 1)
    low = 0 if left.low >= 0 else -largest
    return Span(low, largest)
