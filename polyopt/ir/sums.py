"""Sums of products: the terms that round together with a sum, and polynomials.

In: an expression.  Out: the products it is the sum of, with their signs; its monomials with exact
coefficients: expressions of equal polynomials differ in roundings alone.  Everything that is no
sum, difference, product, negation or quotient by a constant is an atom of a polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    MathFunc,
    Unary,
    UnaryOp,
    children,
)
from polyopt.ir.types import DType

MOST = 256
"""Monomials; products of longer sums are atoms."""

REALS = (DType.FLOAT32, DType.FLOAT64)
_QUOTIENTS = (BinaryOp.DIV, BinaryOp.RATIO)

Monomial = tuple[int, ...]
"""The numbers of its factors, sorted; those of a power are repeated."""

Polynomial = Mapping[Monomial, Fraction]


SignedProduct = tuple[bool, Binary]
"""A product, and whether it is taken away."""


def is_product(expr: Expr) -> bool:
    """Tell whether `expr` is a product of numbers that round."""
    return isinstance(expr, Binary) and expr.op is BinaryOp.MUL and not expr.dtype.is_integer


def products(term: Expr, is_negative: bool = False) -> tuple[SignedProduct, ...]:
    """Return the products that `term` adds up, in its order; none where it adds anything else."""
    match term:
        case Binary(op=BinaryOp.MUL):
            return ((is_negative, term),)
        case Unary(op=UnaryOp.NEG):
            return products(term.operand, not is_negative)
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            left = products(term.left, is_negative)
            right = products(term.right, is_negative is (term.op is BinaryOp.ADD))
            return (*left, *right) if left and right else ()
        case _:
            return ()


def added_products(value: Expr) -> tuple[Expr, tuple[SignedProduct, ...]] | None:
    """Return what `value` adds products to, and these; None where it is no such sum."""
    match value:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB) if right := products(
            value.right, value.op is BinaryOp.SUB
        ):
            return value.left, right
        case Binary(op=BinaryOp.ADD) if left := products(value.left):
            return value.right, left
        case Binary(op=BinaryOp.SUB) if left := products(value.left):
            return Unary(UnaryOp.NEG, value.right, value.dtype), left
        case _:
            return None


def sums_inside(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of `expr` whose products and sums may round once.

    What a comparison or a conversion to integers decides stays as it is.
    """
    if isinstance(expr, Compare) or (isinstance(expr, Cast) and not expr.dtype.is_float):
        return ()
    return tuple(part for part in children(expr) if part.dtype.is_float)


def adds_product(expr: Expr) -> bool:
    """Tell whether `expr` adds a product to anything, in a place where both may round once."""
    if expr.dtype not in REALS:
        return False
    return added_products(expr) is not None or any(map(adds_product, sums_inside(expr)))


def has_sums(expr: Expr) -> bool:
    """Tell whether `expr` has a sum or product of others, in a place where they may be regrouped.

    Two operations at least: a sum of two values has one form alone.
    """
    if expr.dtype not in REALS:
        return False
    parts = sums_inside(expr)
    if is_polynomial(expr) and any(map(is_polynomial, parts)):
        return True
    return any(map(has_sums, parts))


class TooLong(Exception):
    """A polynomial has more than `MOST` monomials."""


def coefficient(expr: Expr) -> Fraction | None:
    """Return the exact value of a finite constant of real numbers, None for other expressions."""
    match expr:
        case Const(dtype=dtype, value=int() | float() as value) if dtype in REALS:
            return Fraction(value) if math.isfinite(value) else None
        case Broadcast():
            return coefficient(expr.operand)
        case Unary(op=UnaryOp.NEG):
            found = coefficient(expr.operand)
            return None if found is None else -found
        case _:
            return None


def divisor(expr: Expr) -> Fraction | None:
    """Return the reciprocal of the constant that `expr` divides by; None for what does not.

    The reciprocal is a normal number, so that it has a relative error of one rounding.
    """
    if not isinstance(expr, Binary) or expr.op not in _QUOTIENTS or expr.dtype not in REALS:
        return None
    found = coefficient(expr.right)
    small = Fraction(1, 2**125 if expr.dtype is DType.FLOAT32 else 2**1021)
    return 1 / found if found and small <= abs(found) <= 1 / small else None


def is_polynomial(expr: Expr) -> bool:
    """Tell whether the root of `expr` is an operation on polynomials."""
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL):
            return expr.dtype in REALS
        case Unary(op=UnaryOp.NEG) | Call(func=MathFunc.FMA):
            return expr.dtype in REALS
        case Binary():
            return divisor(expr) is not None
        case _:
            return False


def polynomial(expr: Expr, number: Callable[[Expr], int]) -> Polynomial:
    """Return `expr` over atoms, which `number` numbers; monomials that cancel have coefficient 0.

    Raises `TooLong`, and what `number` raises.
    """
    constant = coefficient(expr)
    if constant is not None:
        return {(): constant}
    if not is_polynomial(expr):
        return {(number(expr),): Fraction(1)}
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            sign = Fraction(1 if expr.op is BinaryOp.ADD else -1)
            left, right = polynomial(expr.left, number), polynomial(expr.right, number)
            return _sum(left, right, sign)
        case Binary(op=BinaryOp.MUL):
            return _product(polynomial(expr.left, number), polynomial(expr.right, number))
        case Binary():
            scale = divisor(expr)
            assert scale is not None
            return _product({(): scale}, polynomial(expr.left, number))
        case Unary():
            return _product({(): Fraction(-1)}, polynomial(expr.operand, number))
        case Call(args=(a, b, c)):
            product = _product(polynomial(a, number), polynomial(b, number))
            return _sum(product, polynomial(c, number), Fraction(1))
        case _:
            raise AssertionError(expr)


def _sum(left: Polynomial, right: Polynomial, sign: Fraction) -> Polynomial:
    found = dict(left)
    for monomial, factor in right.items():
        found[monomial] = found.get(monomial, Fraction(0)) + sign * factor
    if len(found) > MOST:
        raise TooLong
    return found


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > MOST:
        raise TooLong
    found: dict[Monomial, Fraction] = {}
    for one, factor in left.items():
        for other, second in right.items():
            monomial = tuple(sorted((*one, *other)))
            found[monomial] = found.get(monomial, Fraction(0)) + factor * second
    return found
