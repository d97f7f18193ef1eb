"""Elementwise functions of complex numbers, made from their real and imaginary parts.

In: complex operands.  Out: the element's expression, with NumPy's order and its limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyopt.frontend.arithmetic.elementwise import Rule
from polyopt.frontend.integers.affine_integers import both, either, negated, select
from polyopt.frontend.values.promote import call, real_dtype
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Compare,
    CompareOp,
    Const,
    Expr,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType


def part(value: Expr, func: MathFunc) -> Expr:
    """Return the real or imaginary part."""
    return call(func, value, dtype=real_dtype(value.dtype))


def real(value: Expr) -> Expr:
    """Return the real part."""
    return part(value, MathFunc.REAL)


def imag(value: Expr) -> Expr:
    """Return the imaginary part."""
    return part(value, MathFunc.IMAG)


def of_parts(re: Expr, im: Expr, dtype: DType) -> Expr:
    """Return the complex number with these parts."""
    return Call(MathFunc.COMPLEX, (re, im), dtype)


def reciprocal(args: tuple[Expr, ...], out: DType) -> Expr:
    """Return 1 / z, scaled by its larger part, as NumPy does (Smith, "Algorithm 116", 1962)."""
    re, im = real(args[0]), imag(args[0])
    kind = re.dtype
    one = Const(1.0, kind)
    by_real = Compare(CompareOp.LE, Unary(UnaryOp.ABS, im, kind), Unary(UnaryOp.ABS, re, kind))
    large, small = Select(by_real, re, im, kind), Select(by_real, im, re, kind)
    ratio = Binary(BinaryOp.DIV, small, large, kind)
    divisor = Binary(BinaryOp.ADD, large, Binary(BinaryOp.MUL, small, ratio, kind), kind)
    first = Binary(BinaryOp.DIV, Select(by_real, one, ratio, kind), divisor, kind)
    other = Unary(UnaryOp.NEG, Select(by_real, ratio, one, kind), kind)
    return of_parts(first, Binary(BinaryOp.DIV, other, divisor, kind), out)


def is_nan(value: Expr) -> Expr:
    """Whether either part is no number."""
    parts = (real(value), imag(value))
    return either(*(call(MathFunc.ISNAN, p, dtype=DType.BOOL) for p in parts))


def ordered(op: CompareOp, left: Expr, right: Expr) -> Expr:
    """Compare the real parts, and the imaginary ones where those are equal."""
    strict = {CompareOp.LE: CompareOp.LT, CompareOp.GE: CompareOp.GT}.get(op, op)
    numbers = both(
        *(negated(call(MathFunc.ISNAN, imag(v), dtype=DType.BOOL)) for v in (left, right))
    )
    first = both(Compare(strict, real(left), real(right)), numbers)
    same = Compare(CompareOp.EQ, real(left), real(right))
    return either(first, both(same, Compare(op, imag(left), imag(right))))


def extreme(op: CompareOp, *, skips_nan: bool) -> Rule:
    """Return the rule of maximum (GE) and minimum (LE), or of fmax and fmin."""

    def rule(args: tuple[Expr, ...], out: DType) -> Expr:
        left, right = args
        forced = is_nan(right) if skips_nan else is_nan(left)
        return select(either(ordered(op, left, right), forced), left, right)

    return rule


def sign(args: tuple[Expr, ...], out: DType) -> Expr:
    """The number divided by its magnitude."""
    value = args[0]
    kind = real_dtype(out)
    zero, one = Const(0.0, kind), Const(1.0, kind)
    size = call(MathFunc.HYPOT, real(value), imag(value))
    is_far = call(MathFunc.ISINF, size, dtype=DType.BOOL)

    def scaled(own: Expr, other: Expr) -> Expr:
        is_near = call(MathFunc.ISFINITE, own, dtype=DType.BOOL)
        limit = select(is_near, zero, call(MathFunc.COPYSIGN, one, own))
        both_far = negated(either(is_near, call(MathFunc.ISFINITE, other, dtype=DType.BOOL)))
        limit = select(both_far, Const(math.nan, kind), limit)
        quotient = select(
            Compare(CompareOp.EQ, size, zero), zero, Binary(BinaryOp.DIV, own, size, kind)
        )
        return select(is_far, limit, quotient)

    re, im = scaled(real(value), imag(value)), scaled(imag(value), real(value))
    return select(
        is_nan(value),
        of_parts(Const(math.nan, kind), Const(math.nan, kind), out),
        of_parts(re, im, out),
    )


def rint(args: tuple[Expr, ...], out: DType) -> Expr:
    """Both parts rounded."""
    return of_parts(call(MathFunc.RINT, real(args[0])), call(MathFunc.RINT, imag(args[0])), out)


def _scaled(value: Expr, factor: float, out: DType) -> Expr:
    kind = real_dtype(out)
    re, im = (
        Binary(BinaryOp.MUL, p, Const(factor, kind), kind) for p in (real(value), imag(value))
    )
    return of_parts(re, im, out)


def log_to_base(base: float) -> Rule:
    """Return the rule of log2 and log10."""
    return lambda args, out: _scaled(call(MathFunc.LOG, args[0]), 1.0 / math.log(base), out)


def exp2(args: tuple[Expr, ...], out: DType) -> Expr:
    """Two to a complex power."""
    return call(MathFunc.EXP, _scaled(args[0], math.log(2.0), out))


def expm1(args: tuple[Expr, ...], out: DType) -> Expr:
    """The exponential less one, exact near zero."""
    kind = real_dtype(out)
    re, im = real(args[0]), imag(args[0])
    half = call(MathFunc.SIN, Binary(BinaryOp.DIV, im, Const(2.0, kind), kind))
    square = Binary(BinaryOp.MUL, half, half, kind)
    grown = Binary(BinaryOp.MUL, call(MathFunc.EXPM1, re), call(MathFunc.COS, im), kind)
    less = Binary(BinaryOp.MUL, Const(2.0, kind), square, kind)
    turned = Binary(BinaryOp.MUL, call(MathFunc.EXP, re), call(MathFunc.SIN, im), kind)
    return of_parts(Binary(BinaryOp.SUB, grown, less, kind), turned, out)


def log1p(args: tuple[Expr, ...], out: DType) -> Expr:
    """The logarithm of one more."""
    kind = real_dtype(out)
    re = Binary(BinaryOp.ADD, real(args[0]), Const(1.0, kind), kind)
    im = imag(args[0])
    size = call(MathFunc.HYPOT, re, im)
    return of_parts(call(MathFunc.LOG, size), call(MathFunc.ATAN2, im, re), out)


def either_kind(plain: Rule, complex_rule: Rule) -> Rule:
    """Return the rule that tells by the operands' type which of the two applies."""
    return lambda args, out: (complex_rule if args[0].dtype.is_complex else plain)(args, out)


def comparison(op: CompareOp) -> Callable[[tuple[Expr, ...], DType], Expr]:
    """Return the rule of an ordering comparison."""
    return lambda args, out: ordered(op, args[0], args[1])
