"""Print the columns of swizzled shared arrays with few operations.

In: subscripts, the array's `Turn`, ranges of iterators.  Out: the column an element lies in.
Multiples of a block and offsets inside a group stay outside of the `^`: the rest changes less
often, and neighbours remain recognizable.
"""

from __future__ import annotations

from polyopt.emit.ranges import Ranges
from polyopt.ir.array import Turn
from polyopt.ir.expr import Binary, BinaryOp, Expr, add, integer, mul
from polyopt.ir.linear import Linear, from_linear, linear


def swizzled_column(index: tuple[Expr, ...], swizzle: Turn, ranges: Ranges) -> Expr:
    """Return `swizzle.column(index)` simplified: multiples of a block change no bit below it."""
    whole, rest = _split(linear(index[-1]), swizzle.block)
    groups, inner = _split(rest, swizzle.group)
    if not _is_below(inner, ranges, swizzle.group):
        groups, inner = rest, Linear(0, ())
    by = mul(_row(index[-1 - swizzle.back], swizzle, ranges), integer(swizzle.group))
    base = from_linear(groups)
    swizzled = by if base == integer(0) else Binary(BinaryOp.XOR, base, by, by.dtype)
    return add(add(from_linear(whole), swizzled), from_linear(inner))


def _row(row: Expr, swizzle: Turn, ranges: Ranges) -> Expr:
    """Return `row / rows % count` without multiples of the period."""
    period = swizzle.rows * swizzle.count
    _, rest = _split(linear(row), period)
    found = from_linear(rest)
    is_small = _is_below(rest, ranges, period)
    for op, by in ((BinaryOp.FLOORDIV, swizzle.rows), (BinaryOp.MOD, swizzle.count)):
        if by > 1 and not (op is BinaryOp.MOD and is_small):
            found = Binary(op, found, integer(by), found.dtype)
    return found


def _split(value: Linear, by: int) -> tuple[Linear, Linear]:
    """Return the terms that are multiples of `by`, and the others."""
    rest = value.constant % by
    whole = tuple(term for term in value.terms if term[1] % by == 0)
    others = tuple(term for term in value.terms if term[1] % by != 0)
    return Linear(value.constant - rest, whole), Linear(rest, others)


def _is_below(value: Linear, ranges: Ranges, end: int) -> bool:
    """Tell whether a sum is known to be from 0 to below `end`."""
    expr = from_linear(value)
    least, most = ranges.least(expr), ranges.most(expr)
    return least is not None and least >= 0 and most is not None and most < end
