"""Sums of products: the terms that may be rounded together with the sum they are added to.

In: an expression.  Out: the products it is the sum of, with their signs.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Expr, Unary, UnaryOp

SignedProduct = tuple[bool, Binary]
"""A product, and whether it is taken away."""


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
        case _:
            return None
