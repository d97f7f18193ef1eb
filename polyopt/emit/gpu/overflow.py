"""Find signed integer operations that may overflow, which is undefined in CUDA and OpenCL.

In: integer expressions, known ranges of iterators.  Out: whether an operation may overflow.
"""

from __future__ import annotations

from polyopt.emit.ranges import Ranges
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    VectorLoad,
)
from polyopt.ir.source import LARGEST_SIZE
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

_INDEX = 4 * LARGEST_SIZE
"""No size, and no iterator, is further from 0."""


def largest(dtype: DType) -> int:
    """Return the largest number of an integer type."""
    if dtype is DType.BOOL:
        return 1
    return int(2 ** (8 * dtype.size - (dtype.kind is Kind.SIGNED)) - 1)


def may_overflow(expr: Binary | Unary, ranges: Ranges) -> bool:
    """Tell whether a sum, a product or a negation may leave its type."""
    match expr:
        case Binary():
            size = _together(expr, ranges)
        case Unary():
            size = magnitude_bound(expr.operand, ranges) + 1
        case _:
            assert_never(expr)
    return size > largest(expr.dtype)


def _together(expr: Binary, ranges: Ranges) -> int:
    left, right = magnitude_bound(expr.left, ranges), magnitude_bound(expr.right, ranges)
    match expr.op:
        case BinaryOp.ADD | BinaryOp.SUB:
            return left + right
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.SHL:
            return left << min(right, 64)
        case BinaryOp.MIN | BinaryOp.MAX:
            return max(left, right)
        case BinaryOp.FLOORDIV | BinaryOp.SHR:
            return left + 1
        case BinaryOp.MOD:
            return right
        case _:
            return largest(expr.dtype) + 1


def magnitude_bound(expr: Expr, ranges: Ranges) -> int:
    """Return an upper bound of the magnitude of the integer expression `expr`.

    The least number of a signed type counts as its largest, so that its negation is detected.
    """
    if not (expr.dtype.is_integer or expr.dtype is DType.BOOL):
        return largest(DType.UINT64)
    most = largest(expr.dtype)
    match expr:
        case Const(value=value):
            return abs(int(value.real))
        case Iter() | Param():
            low, high = ranges.least(expr), ranges.most(expr)
            if low is None or high is None:
                return _INDEX
            return min(_INDEX, max(abs(low), abs(high)))
        case Cast():
            return min(most, magnitude_bound(expr.operand, ranges))
        case Binary():
            return min(most, _together(expr, ranges))
        case Unary():
            return min(most, magnitude_bound(expr.operand, ranges) + 1)
        case Select():
            return max(magnitude_bound(expr.then, ranges), magnitude_bound(expr.otherwise, ranges))
        case Load() | Symbol() | Call() | Compare() | VectorLoad() | Broadcast():
            return most
        case _:
            assert_never(expr)
