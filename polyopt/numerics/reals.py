"""Real arithmetic on expressions: short names for the FLOAT64 formulas that error bounds are.

In: expressions.  Out: FLOAT64 expressions, constants folded where they are 0 or 1.
"""

from __future__ import annotations

from math import inf

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType, Kind

REAL = DType.FLOAT64
LARGEST = 1.7976931348623157e308


def number(value: float) -> Const:
    """Return a constant."""
    return Const(float(value), REAL)


ZERO, ONE, INFINITY = number(0.0), number(1.0), number(inf)


def plus(*terms: Expr) -> Expr:
    """Return the sum."""
    result: Expr = ZERO
    for term in terms:
        if result == ZERO:
            result = term
        elif term != ZERO:
            result = Binary(BinaryOp.ADD, result, term, REAL)
    return result


def minus(left: Expr, right: Expr) -> Expr:
    """Return the difference."""
    return left if right == ZERO else Binary(BinaryOp.SUB, left, right, REAL)


def times(left: Expr, right: Expr) -> Expr:
    """Return the product; a constant 0 wins over infinity."""
    if ZERO in (left, right):
        return ZERO
    if left == ONE:
        return right
    if right == ONE:
        return left
    return Binary(BinaryOp.MUL, left, right, REAL)


def over(left: Expr, right: Expr) -> Expr:
    """Return the quotient."""
    return ZERO if left == ZERO else Binary(BinaryOp.DIV, left, right, REAL)


def larger(left: Expr, right: Expr) -> Expr:
    """Return the maximum."""
    if ZERO in (left, right):
        return left if right == ZERO else right
    return Binary(BinaryOp.MAX, left, right, REAL)


def smaller(left: Expr, right: Expr) -> Expr:
    """Return the minimum."""
    return Binary(BinaryOp.MIN, left, right, REAL)


def less(left: Expr, right: Expr) -> Expr:
    """Return `left < right`."""
    return Compare(CompareOp.LT, left, right)


def at_most(left: Expr, right: Expr) -> Expr:
    """Return `left <= right`."""
    return Compare(CompareOp.LE, left, right)


def both(left: Expr, right: Expr) -> Expr:
    """Return `left and right`."""
    return Binary(BinaryOp.AND, left, right, DType.BOOL)


def either(left: Expr, right: Expr) -> Expr:
    """Return `left or right`."""
    return Binary(BinaryOp.OR, left, right, DType.BOOL)


def pick(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `then if condition else otherwise`."""
    return then if then == otherwise else Select(condition, then, otherwise, REAL)


def call(func: MathFunc, *args: Expr) -> Expr:
    """Return `func(*args)`."""
    return Call(func, args, REAL)


def real(value: Expr) -> Expr:
    """Return a real number of any type as FLOAT64."""
    return value if value.dtype is REAL else Cast(value, REAL)


def size(value: Expr) -> Expr:
    """Return the magnitude of a number of any type."""
    if isinstance(value, Const):
        return number(abs(value.value))
    match value.dtype.kind:
        case Kind.BOOL | Kind.UNSIGNED:
            return Cast(value, REAL)
        case Kind.SIGNED:
            return Unary(UnaryOp.ABS, Cast(value, REAL), REAL)
        case Kind.FLOAT:
            return Unary(UnaryOp.ABS, real(value), REAL)
        case Kind.COMPLEX:
            wide = Cast(value, DType.COMPLEX128)
            return Unary(UnaryOp.ABS, wide, REAL)


def unit(dtype: DType) -> float:
    """Return the unit roundoff: the largest relative error of one rounding; 0 for integers."""
    return 2.0**-dtype.digits if dtype.digits else 0.0


def largest(dtype: DType) -> float:
    """Return the largest number of a type of floats; beyond it rounding gives infinity."""
    if dtype in (DType.FLOAT32, DType.FLOAT64):
        return float.fromhex("0x1.fffffep127") if dtype is DType.FLOAT32 else LARGEST
    assert dtype.is_half
    return 65504.0 if dtype is DType.FLOAT16 else float.fromhex("0x1.fep127")


def roundings(value: Expr, dtype: DType, count: float) -> Expr:
    """Return a bound on `count` roundings to `dtype` of results as large as `value`."""
    if unit(dtype) == 0.0:
        return ZERO
    return plus(times(number(count * unit(dtype)), size(value)), number(count * dtype.smallest))
