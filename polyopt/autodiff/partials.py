"""Derivatives of expressions: what reaches each array element that an expression reads.

In: an expression, the adjoint of its value.  Out: for each element read, what its adjoint grows by.
Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapter 3.
Refuses (`NoDerivative`): functions without a derivative in closed form here, complex numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
    operands,
    walk,
)
from polyopt.ir.types import DType


class NoDerivative(Exception):
    """An operation that has no derivative here; the text names it."""


def number(value: float, dtype: DType) -> Const:
    """Return a constant of a floating-point type."""
    return Const(float(value), dtype)


def product(left: Expr, right: Expr) -> Expr:
    """Return `left * right`, without factors of one."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const) and one.value in (1.0, -1.0):
            return other if one.value == 1.0 else negative(other)
    return Binary(BinaryOp.MUL, left, right, left.dtype)


def quotient(left: Expr, right: Expr) -> Expr:
    """Return `left / right`."""
    return Binary(BinaryOp.DIV, left, right, left.dtype)


def total(left: Expr, right: Expr) -> Expr:
    """Return `left + right`."""
    if isinstance(right, Unary) and right.op is UnaryOp.NEG:
        return difference(left, right.operand)
    return Binary(BinaryOp.ADD, left, right, left.dtype)


def difference(left: Expr, right: Expr) -> Expr:
    """Return `left - right`."""
    return Binary(BinaryOp.SUB, left, right, left.dtype)


def negative(value: Expr) -> Expr:
    """Return `-value`."""
    match value:
        case Unary(op=UnaryOp.NEG):
            return value.operand
        case Const(value=float(known)):
            return Const(-known, value.dtype)
        case _:
            return Unary(UnaryOp.NEG, value, value.dtype)


def where(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `then if condition else otherwise`."""
    return Select(condition, then, otherwise, then.dtype)


Contribution = tuple[Load, Expr]
"""An element that is read, and what its adjoint grows by."""


def contributions(
    value: Expr, adjoint: Expr, is_active: Callable[[str], bool], chosen: Expr | None = None
) -> tuple[Contribution, ...]:
    """Return what `adjoint`, the derivative by `value`, adds to that by each active element.

    One entry for each element, in the order in which they are read first.  What a `Select` does not
    choose contributes zero even where its own derivative is infinite; so does all where `chosen`
    does not hold.
    Raises `NoDerivative`.
    """
    flow = _Flow(is_active)
    flow.into(value, adjoint, chosen)
    return tuple(flow.found.items())


def needed(gain: Expr) -> tuple[Expr, ...]:
    """Return conditions that hold wherever a gain is not zero because nothing was chosen."""
    match gain:
        case Select(otherwise=Const(value=0.0)):
            return (*operands(gain.condition, BinaryOp.AND), *needed(gain.then))
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            other = needed(gain.right)
            return tuple(condition for condition in needed(gain.left) if condition in other)
        case Unary(op=UnaryOp.NEG):
            return needed(gain.operand)
        case _:
            return ()


class _Flow:
    """Collects contributions on the way from the root of an expression to its leaves."""

    def __init__(self, is_active: Callable[[str], bool]) -> None:
        self.found: dict[Load, Expr] = {}
        self._is_active = is_active
        self._known: dict[Expr, bool] = {}

    def _varies(self, expr: Expr) -> bool:
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = varies(expr, self._is_active)
        return found

    def into(self, expr: Expr, adjoint: Expr, chosen: Expr | None) -> None:
        """Let `adjoint` flow into `expr`, where the condition `chosen` holds."""
        if not self._varies(expr):
            return
        match expr:
            case Load():
                grown = adjoint
                if chosen is not None:
                    grown = where(chosen, adjoint, number(0.0, adjoint.dtype))
                before = self.found.get(expr)
                self.found[expr] = grown if before is None else total(before, grown)
            case Unary(op=UnaryOp.NEG):
                self.into(expr.operand, negative(adjoint), chosen)
            case Unary(op=UnaryOp.ABS):
                require_real(expr.operand)
                self.into(expr.operand, product(adjoint, sign(expr.operand)), chosen)
            case Cast():
                require_real(expr.operand)
                self.into(expr.operand, cast(adjoint, expr.operand.dtype), chosen)
            case Select():
                then = _both(chosen, expr.condition)
                self.into(expr.then, adjoint, then)
                otherwise = Unary(UnaryOp.INVERT, expr.condition, DType.BOOL)
                self.into(expr.otherwise, adjoint, _both(chosen, otherwise))
            case Binary():
                self._binary(expr, adjoint, chosen)
            case Call():
                self._call(expr, adjoint, chosen)
            case _:
                raise NoDerivative(type(expr).__name__.lower())

    def _binary(  # noqa: C901 - one case an operator
        self, expr: Binary, adjoint: Expr, chosen: Expr | None
    ) -> None:
        left, right = expr.left, expr.right
        require_real(expr)
        match expr.op:
            case BinaryOp.ADD:
                self.into(left, adjoint, chosen)
                self.into(right, adjoint, chosen)
            case BinaryOp.SUB:
                self.into(left, adjoint, chosen)
                self.into(right, negative(adjoint), chosen)
            case BinaryOp.MUL if left == right:
                twice = product(number(2.0, expr.dtype), left)
                self.into(left, product(adjoint, twice), chosen)
            case BinaryOp.MUL:
                self.into(left, product(adjoint, right), chosen)
                self.into(right, product(adjoint, left), chosen)
            case BinaryOp.DIV | BinaryOp.RATIO:
                shared = quotient(adjoint, right)
                self.into(left, shared, chosen)
                self.into(right, negative(product(shared, expr)), chosen)
            case BinaryOp.POW:
                self._power(expr, left, right, adjoint, chosen)
            case BinaryOp.MIN | BinaryOp.MAX:
                before = CompareOp.LT if expr.op is BinaryOp.MIN else CompareOp.GT
                half = product(number(0.5, expr.dtype), adjoint)
                equal = Compare(CompareOp.EQ, left, right)
                for one, other in ((left, right), (right, left)):
                    share = where(equal, half, adjoint)
                    worse = Compare(before, other, one)
                    taken = Unary(UnaryOp.INVERT, worse, DType.BOOL)
                    self.into(one, share, _both(chosen, taken))
            case BinaryOp.MOD:
                whole = Binary(BinaryOp.FLOORDIV, left, right, expr.dtype)
                self.into(left, adjoint, chosen)
                self.into(right, negative(product(adjoint, whole)), chosen)
            case BinaryOp.FLOORDIV:
                pass  # constant between its steps
            case _:
                raise NoDerivative(f"`{expr.op.value}`")

    def _power(
        self, power: Expr, base: Expr, exponent: Expr, adjoint: Expr, chosen: Expr | None
    ) -> None:
        by_base, by_exponent = power_partials(power, base, exponent)
        self.into(base, product(adjoint, by_base), chosen)
        self.into(exponent, product(adjoint, by_exponent), chosen)

    def _call(self, expr: Call, adjoint: Expr, chosen: Expr | None) -> None:
        require_real(expr)
        if expr.func in STEPS:
            return
        if expr.func in (MathFunc.POWER,):
            self._power(expr, expr.args[0], expr.args[1], adjoint, chosen)
            return
        if expr.func is MathFunc.FMA:
            one, two, three = expr.args
            self.into(one, product(adjoint, two), chosen)
            self.into(two, product(adjoint, one), chosen)
            self.into(three, adjoint, chosen)
            return
        single = SINGLE.get(expr.func)
        if single is not None:
            (operand,) = expr.args
            self.into(operand, single(adjoint, operand, expr), chosen)
            return
        pair = PAIRS.get(expr.func)
        if pair is None:
            raise NoDerivative(f"`{expr.func.c_name}`")
        grown = pair(adjoint, *expr.args, expr)
        for operand, part in zip(expr.args, grown, strict=True):
            if part is not None:
                self.into(operand, part, chosen)


def power_partials(power: Expr, base: Expr, exponent: Expr) -> tuple[Expr, Expr]:
    """Return the derivatives of `power`, which is `base**exponent`, by its operands.

    That of `base**0` by its base is 0 also where the base is.
    """
    zero = number(0.0, power.dtype)
    match exponent:
        case Const(value=0 | 0.0):
            by_base: Expr = zero
        case Const(value=known):
            less = Const(known.real - 1, exponent.dtype)
            by_base = product(exponent, _powered(power, base, less))
        case _:
            less_one = difference(exponent, number(1.0, exponent.dtype))
            grown = product(exponent, _powered(power, base, less_one))
            is_flat = Compare(CompareOp.EQ, exponent, number(0.0, exponent.dtype))
            by_base = where(is_flat, zero, grown)
    is_zero = Compare(CompareOp.EQ, base, number(0.0, base.dtype))
    log = Call(MathFunc.LOG, (base,), base.dtype)
    return by_base, where(is_zero, zero, product(power, log))


def require_real(expr: Expr) -> None:
    """Refuse complex numbers."""
    if expr.dtype.is_complex:
        raise NoDerivative("complex numbers")


def varies(expr: Expr, is_active: Callable[[str], bool]) -> bool:
    """Tell whether an expression depends on active elements in more than decisions and indices."""
    match expr:
        case Load():
            return is_active(expr.array)
        case Select():
            return varies(expr.then, is_active) or varies(expr.otherwise, is_active)
        case Compare():
            return False
        case Cast() if not (expr.dtype.is_float or expr.dtype.is_complex):
            return False
        case Call() if expr.func in STEPS:
            return False
        case _:
            parts = (p for p in _operands(expr))
            return any(varies(part, is_active) for part in parts)


def _operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Binary():
            return (expr.left, expr.right)
        case Unary() | Cast():
            return (expr.operand,)
        case Call():
            return expr.args
        case _:
            return ()


def active_loads(expr: Expr, is_active: Callable[[str], bool]) -> tuple[Load, ...]:
    """Return the active elements that an expression reads, subscripts left out."""
    if not varies(expr, is_active):
        return ()
    return tuple(part for part in walk(expr) if isinstance(part, Load) and is_active(part.array))


def _both(one: Expr | None, other: Expr) -> Expr:
    return other if one is None else Binary(BinaryOp.AND, one, other, DType.BOOL)


def cast(value: Expr, dtype: DType) -> Expr:
    return value if value.dtype is dtype else Cast(value, dtype)


def sign(value: Expr) -> Expr:
    zero, one = number(0.0, value.dtype), number(1.0, value.dtype)
    below = Compare(CompareOp.LT, value, zero)
    above = Compare(CompareOp.GT, value, zero)
    return where(above, one, where(below, negative(one), zero))


def _powered(power: Expr, base: Expr, exponent: Expr) -> Expr:
    match exponent:
        case Const(value=0 | 0.0):
            return number(1.0, base.dtype)
        case Const(value=1 | 1.0):
            return base
        case Const(value=2 | 2.0):
            return product(base, base)
    if isinstance(power, Call):
        return Call(power.func, (base, exponent), power.dtype)
    return Binary(BinaryOp.POW, base, exponent, power.dtype)


STEPS = frozenset(
    {
        *(MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT, MathFunc.LOGB),
        *(MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE, MathFunc.SIGNBIT),
    }
)
"""Functions that are constant between their steps."""

_Single = Callable[[Expr, Expr, Expr], Expr]


def _one(value: Expr) -> Const:
    return number(1.0, value.dtype)


def _square(value: Expr) -> Expr:
    return product(value, value)


def _root(value: Expr) -> Expr:
    return Call(MathFunc.SQRT, (value,), value.dtype)


def _of(func: MathFunc, value: Expr) -> Expr:
    return Call(func, (value,), value.dtype)


def _scaled(adjoint: Expr, factor: float, value: Expr) -> Expr:
    return product(adjoint, product(number(factor, value.dtype), value))


def _gauss(adjoint: Expr, x: Expr, sign: float) -> Expr:
    bell = _of(MathFunc.EXP, negative(_square(x)))
    return _scaled(adjoint, sign * 2.0 / math.sqrt(math.pi), bell)


SINGLE: dict[MathFunc, _Single] = {
    MathFunc.SQRT: lambda a, x, y: quotient(product(number(0.5, x.dtype), a), y),
    MathFunc.CBRT: lambda a, x, y: quotient(a, product(number(3.0, x.dtype), _square(y))),
    MathFunc.EXP: lambda a, x, y: product(a, y),
    MathFunc.EXP2: lambda a, x, y: _scaled(a, math.log(2.0), y),
    MathFunc.EXPM1: lambda a, x, y: product(a, total(y, _one(x))),
    MathFunc.LOG: lambda a, x, y: quotient(a, x),
    MathFunc.LOG2: lambda a, x, y: quotient(a, product(number(math.log(2.0), x.dtype), x)),
    MathFunc.LOG10: lambda a, x, y: quotient(a, product(number(math.log(10.0), x.dtype), x)),
    MathFunc.LOG1P: lambda a, x, y: quotient(a, total(_one(x), x)),
    MathFunc.SIN: lambda a, x, y: product(a, _of(MathFunc.COS, x)),
    MathFunc.COS: lambda a, x, y: negative(product(a, _of(MathFunc.SIN, x))),
    MathFunc.TAN: lambda a, x, y: product(a, total(_one(x), _square(y))),
    MathFunc.ASIN: lambda a, x, y: quotient(a, _root(difference(_one(x), _square(x)))),
    MathFunc.ACOS: lambda a, x, y: negative(quotient(a, _root(difference(_one(x), _square(x))))),
    MathFunc.ATAN: lambda a, x, y: quotient(a, total(_one(x), _square(x))),
    MathFunc.SINH: lambda a, x, y: product(a, _of(MathFunc.COSH, x)),
    MathFunc.COSH: lambda a, x, y: product(a, _of(MathFunc.SINH, x)),
    MathFunc.TANH: lambda a, x, y: product(a, difference(_one(x), _square(y))),
    MathFunc.ASINH: lambda a, x, y: quotient(a, _root(total(_square(x), _one(x)))),
    MathFunc.ACOSH: lambda a, x, y: quotient(a, _root(difference(_square(x), _one(x)))),
    MathFunc.ATANH: lambda a, x, y: quotient(a, difference(_one(x), _square(x))),
    MathFunc.ERF: lambda a, x, y: _gauss(a, x, 1.0),
    MathFunc.ERFC: lambda a, x, y: _gauss(a, x, -1.0),
}
"""What the operand's adjoint grows by: of the value's adjoint, the operand and the value."""

_Grown = tuple[Expr | None, ...]


def _atan2(a: Expr, y: Expr, x: Expr, _: Expr) -> _Grown:
    squares = total(_square(x), _square(y))
    return (
        quotient(product(a, x), squares),
        negative(quotient(product(a, y), squares)),
    )


def _hypot(a: Expr, x: Expr, y: Expr, value: Expr) -> _Grown:
    return product(a, quotient(x, value)), product(a, quotient(y, value))


def _copysign(a: Expr, x: Expr, y: Expr, value: Expr) -> _Grown:
    return product(a, product(sign(x), sign(value))), None


def _rest(a: Expr, x: Expr, y: Expr, value: Expr) -> _Grown:
    return a, negative(product(a, quotient(difference(x, value), y)))


PAIRS: dict[MathFunc, Callable[..., _Grown]] = {
    MathFunc.ATAN2: _atan2,
    MathFunc.HYPOT: _hypot,
    MathFunc.COPYSIGN: _copysign,
    MathFunc.FMOD: _rest,
    MathFunc.REMAINDER: _rest,
}
