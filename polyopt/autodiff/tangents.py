"""Tangents of expressions: how much a value changes with the elements that it reads.

In: an expression, the tangents of active elements.  Out: the tangent of its value.
Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapter 3.
Refuses (`NoDerivative`): functions without a derivative in closed form here, complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.autodiff.partials import (
    PAIRS,
    SINGLE,
    STEPS,
    NoDerivative,
    cast,
    negative,
    number,
    power_partials,
    product,
    quotient,
    require_real,
    sign,
    total,
    varies,
    where,
)
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
)


def tangent(value: Expr, of: Callable[[str], str | None]) -> Expr:
    """Return the tangent of `value`; `of` names the array of tangents of an active array.

    What a `Select` does not choose does not matter, even where its own tangent is infinite; of
    equal sides of an extremum each contributes half.
    Raises `NoDerivative`.
    """
    found = _Tangents(of).along(value)
    return number(0.0, value.dtype) if found is None else found


class _Tangents:
    """Finds tangents from the leaves of an expression to its root; None is zero."""

    def __init__(self, of: Callable[[str], str | None]) -> None:
        self._of = of

    def along(self, expr: Expr) -> Expr | None:
        """Return the tangent of an expression."""
        if not varies(expr, lambda array: self._of(array) is not None):
            return None
        require_real(expr)
        match expr:
            case Load():
                array = self._of(expr.array)
                assert array is not None
                return Load(array, expr.index, expr.dtype)
            case Unary(op=UnaryOp.NEG, operand=operand):
                return negative(self._some(operand))
            case Unary(op=UnaryOp.ABS, operand=operand):
                require_real(operand)
                return product(self._some(operand), sign(operand))
            case Cast(operand=operand):
                require_real(operand)
                return cast(self._some(operand), expr.dtype)
            case Select():
                return where(expr.condition, self._some(expr.then), self._some(expr.otherwise))
            case Binary():
                return self._binary(expr)
            case Call():
                return self._call(expr)
            case _:
                raise NoDerivative(type(expr).__name__.lower())

    def _some(self, expr: Expr) -> Expr:
        found = self.along(expr)
        return number(0.0, expr.dtype) if found is None else found

    def _binary(self, expr: Binary) -> Expr | None:
        left, right = expr.left, expr.right
        one, two = self.along(left), self.along(right)
        match expr.op:
            case BinaryOp.ADD:
                return _sum(one, two)
            case BinaryOp.SUB:
                return _sum(one, None if two is None else negative(two))
            case BinaryOp.MUL if left == right and one is not None:
                return product(product(number(2.0, expr.dtype), left), one)
            case BinaryOp.MUL:
                return _sum(_times(one, right), _times(two, left))
            case BinaryOp.DIV | BinaryOp.RATIO:
                moved = None if two is None else negative(product(expr, two))
                above = _sum(one, moved)
                return None if above is None else quotient(above, right)
            case BinaryOp.POW:
                return self._power(expr, left, right)
            case BinaryOp.MIN | BinaryOp.MAX:
                return self._extremum(expr)
            case BinaryOp.MOD:
                whole = Binary(BinaryOp.FLOORDIV, left, right, expr.dtype)
                return _sum(one, None if two is None else negative(product(whole, two)))
            case BinaryOp.FLOORDIV:
                return None  # constant between its steps
            case _:
                raise NoDerivative(f"`{expr.op.value}`")

    def _extremum(self, expr: Binary) -> Expr:
        left, right = expr.left, expr.right
        one, two = self._some(left), self._some(right)
        is_left = CompareOp.LT if expr.op is BinaryOp.MIN else CompareOp.GT
        half = product(number(0.5, expr.dtype), total(one, two))
        rest = where(Compare(CompareOp.EQ, left, right), half, two)
        return where(Compare(is_left, left, right), one, rest)

    def _power(self, power: Expr, base: Expr, exponent: Expr) -> Expr | None:
        by_base, by_exponent = power_partials(power, base, exponent)
        return _sum(_times(self.along(base), by_base), _times(self.along(exponent), by_exponent))

    def _call(self, expr: Call) -> Expr | None:
        if expr.func in STEPS:
            return None
        if expr.func is MathFunc.POWER:
            return self._power(expr, *expr.args)
        if expr.func is MathFunc.FMA:
            one, two, three = expr.args
            both = _sum(_times(self.along(one), two), _times(self.along(two), one))
            return _sum(both, self.along(three))
        single = SINGLE.get(expr.func)
        if single is not None:
            (operand,) = expr.args
            return single(self._some(operand), operand, expr)
        pair = PAIRS.get(expr.func)
        if pair is None:
            raise NoDerivative(f"`{expr.func.c_name}`")
        found: Expr | None = None
        for place, operand in enumerate(expr.args):
            along = self.along(operand)
            if along is not None:
                found = _sum(found, pair(along, *expr.args, expr)[place])
        return found


def _sum(one: Expr | None, other: Expr | None) -> Expr | None:
    if one is None or other is None:
        return other if one is None else one
    return total(one, other)


def _times(along: Expr | None, factor: Expr) -> Expr | None:
    """Return a tangent times a factor; a constant stands first."""
    if along is None:
        return None
    return product(factor, along) if isinstance(factor, Const) else product(along, factor)
