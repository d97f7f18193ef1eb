"""Elementwise functions about the bits of numbers: gcd, ldexp, spacing, logaddexp2, counts of bits.

In: operands in the dtypes of NumPy's own loop.  Out: the element's expression.
"""

from __future__ import annotations

import math

from polyopt.frontend.integers.affine_integers import either, negated, select
from polyopt.frontend.values.promote import call, cast
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
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType, Kind

Parts = tuple[Expr, ...]
_INT32 = (Const(-(2**31) + 1, DType.INT64), Const(2**31 - 1, DType.INT64))


def _is_zero(value: Expr) -> Expr:
    return Compare(CompareOp.EQ, value, cast(Const(0, DType.INT64), value.dtype))


def _magnitude(value: Expr) -> Expr:
    if value.dtype.kind is not Kind.SIGNED:
        return value
    return Unary(UnaryOp.ABS, value, value.dtype)


def gcd(args: Parts, out: DType) -> Expr:
    """The greatest common divisor."""
    return call(MathFunc.GCD, *args, dtype=out)


def lcm(args: Parts, out: DType) -> Expr:
    """The least common multiple; zero with zero."""
    divisor = gcd(args, out)
    one = cast(Const(1, DType.INT64), out)
    safe = select(_is_zero(divisor), one, divisor)
    whole = Binary(BinaryOp.FLOORDIV, _magnitude(args[0]), safe, out)
    return Binary(BinaryOp.MUL, whole, _magnitude(args[1]), out)


def ldexp(args: Parts, out: DType) -> Expr:
    """`x * 2**n`; exponents beyond 32 bits are as good as infinite."""
    value, exponent = args
    if exponent.dtype is DType.INT64:
        low, high = _INT32
        above = Binary(BinaryOp.MAX, exponent, low, DType.INT64)
        exponent = Binary(BinaryOp.MIN, above, high, DType.INT64)
    return Call(MathFunc.LDEXP, (value, cast(exponent, DType.INT32)), out)


def exponent_of(args: Parts, out: DType) -> Expr:
    """`frexp`'s second result."""
    value = args[0]
    plain = call(MathFunc.ISFINITE, value, dtype=DType.BOOL)
    one = Const(1.0, value.dtype)
    usable = select(either(_is_zero(value), negated(plain)), one, value)
    power = Cast(call(MathFunc.LOGB, usable), DType.INT32)
    more = Binary(BinaryOp.ADD, power, Const(1, DType.INT32), DType.INT32)
    nothing = either(_is_zero(value), negated(plain))
    return select(nothing, Const(0, DType.INT32), more)


def mantissa_of(args: Parts, out: DType) -> Expr:
    """`frexp`'s first result: the magnitude is zero, or between a half and one."""
    power = exponent_of(args, DType.INT32)
    return Call(MathFunc.LDEXP, (args[0], Unary(UnaryOp.NEG, power, DType.INT32)), out)


def fraction_of(args: Parts, out: DType) -> Expr:
    """`modf`'s first result, with the sign of the number."""
    value = args[0]
    rest = Binary(BinaryOp.SUB, value, call(MathFunc.TRUNC, value), out)
    far = call(MathFunc.ISINF, value, dtype=DType.BOOL)
    return call(MathFunc.COPYSIGN, select(far, Const(0.0, out), rest), value)


def whole_of(args: Parts, out: DType) -> Expr:
    """`modf`'s second result."""
    return call(MathFunc.TRUNC, args[0])


def spacing(args: Parts, out: DType) -> Expr:
    """The distance to the next number away from zero; that of a float16 is the next larger one."""
    value = args[0]
    if out is DType.FLOAT16:
        above = call(MathFunc.NEXTAFTER, value, Const(math.inf, out))
        known = call(MathFunc.ISFINITE, value, dtype=DType.BOOL)
        return Binary(BinaryOp.SUB, select(known, above, value), value, out)
    far = call(MathFunc.COPYSIGN, Const(math.inf, out), value)
    upwards = far if out is DType.BFLOAT16 else select(_is_zero(value), Const(math.inf, out), far)
    return Binary(BinaryOp.SUB, call(MathFunc.NEXTAFTER, value, upwards), value, out)


def bitwise_count(args: Parts, out: DType) -> Expr:
    """How many bits of the magnitude are set."""
    value = args[0]
    if value.dtype is DType.BOOL:
        return Cast(value, out)
    unsigned = DType(f"uint{value.dtype.size * 8}")
    return call(MathFunc.POPCOUNT, cast(_magnitude(value), unsigned), dtype=out)


def logaddexp2(args: Parts, out: DType) -> Expr:
    """`log2(2**x + 2**y)`: the larger one and what the smaller one adds."""
    left, right = args
    difference = Binary(BinaryOp.SUB, left, right, out)
    down = Unary(UnaryOp.NEG, Unary(UnaryOp.ABS, difference, out), out)
    added = call(MathFunc.LOG1P, call(MathFunc.EXP2, down))
    scaled = Binary(BinaryOp.MUL, added, Const(1.0 / math.log(2.0), out), out)
    largest = Binary(BinaryOp.MAX, left, right, out)
    doubled = Binary(BinaryOp.ADD, left, Const(1.0, out), out)
    same = Compare(CompareOp.EQ, left, right)
    return select(same, doubled, Binary(BinaryOp.ADD, largest, scaled, out))


def mixed_order(op: CompareOp, left: Expr, right: Expr) -> Expr:
    """Compare a signed with an unsigned 64-bit integer by value."""
    signed = left if left.dtype is DType.INT64 else right
    negative = Compare(CompareOp.LT, signed, Const(0, DType.INT64))
    one, other = (Cast(v, DType.UINT64) if v is signed else v for v in (left, right))
    is_smaller = op in (CompareOp.LT, CompareOp.LE)
    is_larger = op in (CompareOp.GT, CompareOp.GE)
    answer = op is CompareOp.NE or (is_smaller if signed is left else is_larger)
    return select(negative, Const(answer, DType.BOOL), Compare(op, one, other))
