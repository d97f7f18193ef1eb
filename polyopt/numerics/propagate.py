"""How errors of operands become the error of a result, one operation at a time.

In: an operation, its operands, bounds on their errors, its result.  Out: a FLOAT64 expression that
bounds how far the result lies from that of operands within their bounds.
To first order where it says so; infinite where no bound follows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import Kind
from polyopt.never import assert_never
from polyopt.numerics.accuracy import accuracy
from polyopt.numerics.reals import (
    INFINITY,
    LARGEST,
    ONE,
    REAL,
    ZERO,
    at_most,
    both,
    call,
    either,
    larger,
    largest,
    less,
    minus,
    number,
    over,
    pick,
    plus,
    real,
    roundings,
    size,
    smaller,
    times,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A value, as an expression without operations, and the bound on its error."""

    value: Expr
    error: Expr


def error_of(expr: Expr, parts: tuple[Operand, ...], result: Expr) -> Expr:
    """Return the bound for the operation at the root of `expr`, whose value is `result`."""
    incoming = plus(*(part.error for part in parts))
    bound = plus(_propagated(expr, parts, result), _own(expr, result))
    if expr.dtype.is_half:
        return _near_the_end(_settled(bound, incoming, result), result)
    if expr.dtype.is_float or expr.dtype.is_complex:
        return _settled(bound, incoming, result)
    return _or_infinite(bound)


def mass_of(expr: Expr, masses: tuple[Expr, ...]) -> Expr:
    """Return the sum of magnitudes of an operation's products, from those of its operands."""
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            return plus(*masses)
        case Binary(op=BinaryOp.MUL):
            return times(*masses)
        case Binary():
            return over(*masses)
        case Call():
            return plus(times(masses[0], masses[1]), masses[2])
        case _:
            return masses[0]


def _own(expr: Expr, result: Expr) -> Expr:
    """Return the roundings of the operation itself: ours, and the reference's."""
    found = accuracy(expr)
    if found is not None:
        return roundings(result, expr.dtype, 2 * found.apart)
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL | BinaryOp.DIV | BinaryOp.MOD):
            return roundings(result, expr.dtype, 2)
        case Call(func=MathFunc.SQRT | MathFunc.FMA | MathFunc.NEXTAFTER):
            return roundings(result, expr.dtype, 2)
        case Call(func=MathFunc.LDEXP | MathFunc.FMOD | MathFunc.REMAINDER):
            return roundings(result, expr.dtype, 2)
        case Cast():
            return roundings(result, expr.dtype, 2)
        case _:
            return ZERO


def _settled(bound: Expr, incoming: Expr, result: Expr) -> Expr:
    """Return the bound; a result that is infinite or NaN is so for all operands within bounds."""
    magnitude = size(result)
    lost = ZERO if incoming == ZERO else pick(at_most(incoming, number(LARGEST)), ZERO, INFINITY)
    return pick(at_most(magnitude, number(LARGEST)), _or_infinite(bound), lost)


def _near_the_end(bound: Expr, result: Expr) -> Expr:
    """Return the bound, infinite where one of two results may be rounded to infinity."""
    if bound == ZERO:
        return ZERO
    inside = at_most(plus(size(result), bound), number(largest(result.dtype)))
    return pick(either(inside, at_most(bound, ZERO)), bound, INFINITY)


def _or_infinite(bound: Expr) -> Expr:
    if isinstance(bound, Const):
        return bound
    return pick(at_most(bound, number(LARGEST)), bound, INFINITY)


def uncertain(left: Operand, right: Operand) -> Expr:
    """Return the BOOL that a comparison may turn out either way."""
    error = plus(left.error, right.error)
    left_value, right_value = left.value, right.value
    if left_value.dtype.is_complex:
        distance = size(Binary(BinaryOp.SUB, left_value, right_value, left_value.dtype))
    else:
        distance = size(minus(real(left_value), real(right_value)))
    return both(less(ZERO, error), at_most(distance, error))


def _propagated(expr: Expr, parts: tuple[Operand, ...], result: Expr) -> Expr:
    match expr:
        case Binary():
            left, right = parts
            return _binary(expr, left, right, result)
        case Unary(op=UnaryOp.INVERT) if expr.dtype.is_integer:
            return parts[0].error
        case Unary():
            return parts[0].error
        case Compare():
            return pick(uncertain(*parts), ONE, ZERO)
        case Call():
            return _call(expr, parts, result)
        case Select():
            return _select(*parts)
        case Cast():
            return _cast(expr, parts[0])
        case _:
            raise AssertionError(f"{expr} is no operation")


def _select(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    chosen = pick(condition.value, then.error, otherwise.error)
    if condition.error == ZERO:
        return chosen
    return pick(less(ZERO, condition.error), apart(then, otherwise), chosen)


def apart(one: Operand, other: Operand) -> Expr:
    """Return how far one value may lie from the other."""
    if one.value.dtype.is_complex:
        distance = size(Binary(BinaryOp.SUB, one.value, other.value, one.value.dtype))
    else:
        distance = size(minus(real(one.value), real(other.value)))
    return plus(distance, larger(one.error, other.error))


def _cast(expr: Cast, part: Operand) -> Expr:
    source, target = expr.operand.dtype, expr.dtype
    if target.kind is Kind.BOOL:
        return pick(both(less(ZERO, part.error), at_most(size(part.value), part.error)), ONE, ZERO)
    if target.is_integer and source.is_float:
        return _steps(MathFunc.TRUNC, part)
    return part.error


def _steps(func: MathFunc, part: Operand) -> Expr:
    """Return how far a function that only steps up or down moves within the error."""
    value = real(part.value)
    return minus(call(func, plus(value, part.error)), call(func, minus(value, part.error)))


def _binary(expr: Binary, a: Operand, b: Operand, result: Expr) -> Expr:
    match expr.op:
        case BinaryOp.ADD | BinaryOp.SUB:
            return plus(a.error, b.error)
        case BinaryOp.MUL:
            return plus(
                times(size(a.value), b.error),
                times(size(b.value), a.error),
                times(a.error, b.error),
            )
        case BinaryOp.DIV | BinaryOp.RATIO:
            return _quotient(a, b, result)
        case BinaryOp.MIN | BinaryOp.MAX:
            return larger(a.error, b.error)
        case BinaryOp.POW if expr.dtype.is_float:
            return _power(a, b, result)
        case BinaryOp.MOD | BinaryOp.FLOORDIV if expr.dtype.is_float:
            return _whole_quotient(expr.op, a, b)
        case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR if expr.dtype.kind is Kind.BOOL:
            return larger(a.error, b.error)
        case (
            BinaryOp.POW
            | BinaryOp.MOD
            | BinaryOp.FLOORDIV
            | BinaryOp.AND
            | BinaryOp.OR
            | BinaryOp.XOR
            | BinaryOp.SHL
            | BinaryOp.SHR
        ):
            return unknown(plus(a.error, b.error))
        case _:
            assert_never(expr.op)


def unknown(error: Expr) -> Expr:
    """Return no error for exact operands, else infinity."""
    return ZERO if error == ZERO else pick(less(ZERO, error), INFINITY, ZERO)


def _quotient(a: Operand, b: Operand, result: Expr) -> Expr:
    if b.error == ZERO:
        return over(a.error, size(b.value))
    room = minus(size(b.value), b.error)
    error = over(plus(a.error, times(size(result), b.error)), room)
    return pick(less(ZERO, room), error, unknown(plus(a.error, b.error)))


def _power(a: Operand, b: Operand, result: Expr) -> Expr:
    """`v * expm1(|b| * ea / (|a| - ea) + |log a| * eb)`: the change of the logarithm."""
    if plus(a.error, b.error) == ZERO:
        return ZERO
    room = minus(size(a.value), a.error)
    change = over(times(plus(size(b.value), b.error), a.error), room)
    if b.error != ZERO:
        logarithm = size(call(MathFunc.LOG, smaller(room, size(a.value))))
        change = plus(change, times(plus(logarithm, ONE), b.error))
    near = call(MathFunc.EXPM1, change)
    far = unknown(plus(a.error, b.error))
    if isinstance(b.value, Const) and float(b.value.value.real) >= 1 and b.error == ZERO:
        far = Binary(BinaryOp.POW, plus(size(a.value), a.error), real(b.value), REAL)
    return pick(less(ZERO, room), times(size(result), near), far)


def _whole_quotient(op: BinaryOp, a: Operand, b: Operand) -> Expr:
    """Bounds for floor division and its remainder by an exact divisor, which step at multiples."""
    if plus(a.error, b.error) == ZERO:
        return ZERO
    if b.error != ZERO:
        return unknown(plus(a.error, b.error))
    value, divisor = real(a.value), real(b.value)
    ends = tuple(
        call(MathFunc.FLOOR, over(end, divisor))
        for end in (plus(value, a.error), minus(value, a.error))
    )
    steps = size(minus(*ends))
    if op is BinaryOp.FLOORDIV:
        return steps
    return plus(a.error, times(steps, size(b.value)))


_Rule = Callable[[Operand, Expr], Expr]


def _exponential(scale: float, extra: float) -> _Rule:
    def rule(x: Operand, v: Expr) -> Expr:
        moved = times(number(scale), x.error)
        near = times(plus(size(v), number(extra)), call(MathFunc.EXPM1, moved))
        if x.value.dtype.is_complex:
            return near
        end = times(number(scale), plus(real(x.value), x.error))
        return pick(less(moved, ONE), near, call(MathFunc.EXP, end))

    return rule


def _logarithm(scale: float, shift: float) -> _Rule:
    def rule(x: Operand, v: Expr) -> Expr:
        place = plus(real(x.value), number(shift))
        near = over(times(number(scale), x.error), minus(place, x.error))
        return pick(less(x.error, place), near, unknown(x.error))

    return rule


def _steep(factor: float) -> _Rule:
    return lambda x, v: times(number(factor), x.error)


def _stepping(func: MathFunc) -> _Rule:
    return lambda x, v: _steps(func, x)


def _root(x: Operand, v: Expr) -> Expr:
    end = call(MathFunc.SQRT, x.error)
    return pick(less(ZERO, size(v)), smaller(over(x.error, size(v)), end), end)


def _cube_root(x: Operand, v: Expr) -> Expr:
    near = over(x.error, times(size(v), size(v)))
    far = times(number(2.0), call(MathFunc.CBRT, x.error))
    return pick(less(times(number(2.0), x.error), size(x.value)), near, far)


def _tangent(x: Operand, v: Expr) -> Expr:
    slope = times(x.error, plus(ONE, times(size(v), size(v))))
    is_near = less(times(x.error, plus(ONE, size(v))), number(0.5))
    return pick(is_near, times(number(4.0), slope), unknown(x.error))


def _arcsine(x: Operand, v: Expr) -> Expr:
    end = plus(size(x.value), x.error)
    near = over(x.error, call(MathFunc.SQRT, minus(ONE, times(end, end))))
    return pick(less(end, ONE), near, times(number(2.0), call(MathFunc.SQRT, x.error)))


def _hyperbolic(x: Operand, v: Expr) -> Expr:
    return times(times(x.error, plus(size(v), ONE)), call(MathFunc.EXP, x.error))


def _area_cosine(x: Operand, v: Expr) -> Expr:
    end = minus(real(x.value), x.error)
    near = over(x.error, call(MathFunc.SQRT, minus(times(end, end), ONE)))
    return pick(less(ONE, end), near, times(number(2.0), call(MathFunc.SQRT, x.error)))


def _area_tangent(x: Operand, v: Expr) -> Expr:
    end = plus(size(x.value), x.error)
    near = over(x.error, minus(ONE, times(end, end)))
    return pick(less(end, ONE), near, unknown(x.error))


def _sign(x: Operand, v: Expr) -> Expr:
    return pick(both(less(ZERO, x.error), at_most(size(x.value), x.error)), ONE, ZERO)


_REAL: dict[MathFunc, _Rule] = {
    MathFunc.SQRT: _root,
    MathFunc.CBRT: _cube_root,
    MathFunc.EXP: _exponential(1.0, 0.0),
    MathFunc.EXP2: _exponential(log(2), 0.0),
    MathFunc.EXPM1: _exponential(1.0, 1.0),
    MathFunc.LOG: _logarithm(1.0, 0.0),
    MathFunc.LOG2: _logarithm(1 / log(2), 0.0),
    MathFunc.LOG10: _logarithm(1 / log(10), 0.0),
    MathFunc.LOG1P: _logarithm(1.0, 1.0),
    MathFunc.SIN: _steep(1.0),
    MathFunc.COS: _steep(1.0),
    MathFunc.TAN: _tangent,
    MathFunc.ASIN: _arcsine,
    MathFunc.ACOS: _arcsine,
    MathFunc.ATAN: _steep(1.0),
    MathFunc.SINH: _hyperbolic,
    MathFunc.COSH: _hyperbolic,
    MathFunc.TANH: _steep(1.0),
    MathFunc.ASINH: _steep(1.0),
    MathFunc.ACOSH: _area_cosine,
    MathFunc.ATANH: _area_tangent,
    MathFunc.ERF: _steep(1.13),
    MathFunc.ERFC: _steep(1.13),
    MathFunc.FLOOR: _stepping(MathFunc.FLOOR),
    MathFunc.CEIL: _stepping(MathFunc.CEIL),
    MathFunc.TRUNC: _stepping(MathFunc.TRUNC),
    MathFunc.RINT: _stepping(MathFunc.RINT),
    MathFunc.SIGNBIT: _sign,
}
_COMPLEX: dict[MathFunc, _Rule] = {
    MathFunc.REAL: _steep(1.0),
    MathFunc.IMAG: _steep(1.0),
    MathFunc.CONJ: _steep(1.0),
    MathFunc.EXP: _exponential(1.0, 0.0),
    MathFunc.SQRT: _root,
}
_TESTS = (MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE)


def _call(expr: Call, parts: tuple[Operand, ...], result: Expr) -> Expr:
    incoming = plus(*(part.error for part in parts))
    if incoming == ZERO or expr.func in _TESTS:
        return ZERO
    rules = _COMPLEX if expr.args[0].dtype.is_complex else _REAL
    rule = rules.get(expr.func)
    if rule is not None:
        return rule(parts[0], result)
    match expr.func:
        case MathFunc.COMPLEX | MathFunc.HYPOT | MathFunc.NEXTAFTER:
            return incoming
        case MathFunc.REAL | MathFunc.IMAG | MathFunc.CONJ:
            return incoming
        case MathFunc.FMA:
            a, b, c = parts
            product = Binary(BinaryOp.MUL, a.value, b.value, expr.dtype)
            return plus(_binary(product, a, b, result), c.error)
        case MathFunc.POWER:
            base, exponent = parts
            return _power(base, exponent, result)
        case MathFunc.ATAN2:
            return _angle(*parts)
        case MathFunc.COPYSIGN:
            value, sign = parts
            flip = both(less(ZERO, sign.error), at_most(size(sign.value), sign.error))
            jump = pick(flip, times(number(2.0), size(value.value)), ZERO)
            return plus(value.error, jump if sign.error != ZERO else ZERO)
        case MathFunc.LDEXP if parts[1].error == ZERO:
            value = parts[0]
            scale = over(size(result), size(value.value))
            return pick(less(ZERO, size(value.value)), times(value.error, scale), INFINITY)
        case _:
            return unknown(incoming)


def _angle(y: Operand, x: Operand) -> Expr:
    """The angle of a point that moves by less than half its distance; a turn at the cut."""
    moved = plus(y.error, x.error)
    distance = call(MathFunc.HYPOT, real(y.value), real(x.value))
    at_cut = both(less(real(x.value), x.error), at_most(size(y.value), y.error))
    is_far = either(at_cut, at_most(distance, times(number(2.0), moved)))
    near = over(times(number(2.0), moved), distance)
    turn = pick(less(ZERO, moved), number(2 * pi), ZERO)
    return pick(is_far, turn, near)
