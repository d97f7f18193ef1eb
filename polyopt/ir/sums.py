"""Sums of products: the terms that may be rounded together with the sum they are added to.

In: an expression.  Out: the products it is the sum of, with their signs.
"""

from __future__ import annotations

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    Expr,
    Unary,
    UnaryOp,
    children,
)
from polyopt.ir.polynomials import REALS, is_polynomial

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
