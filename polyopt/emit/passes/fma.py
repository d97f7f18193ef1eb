"""FMA: `x = x + a*b` of a reassociable or fusible statement becomes `x = fma(a, b, x)`.

In: a `LoopFunction`, which names these statements.  Out: the contraction.
Leaves: every other product and sum, which round twice as in the source.
"""

from __future__ import annotations

from dataclasses import replace

from polyopt.emit.passes.rewriting import bottom_up
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    MathFunc,
    Unary,
    UnaryOp,
)
from polyopt.ir.loops import Assign, Body, LoopFunction, Node


def contract(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the updates of its reassociable and fusible statements contracted."""
    chosen = fn.reassociable | fn.fusible

    def rule(node: Node) -> Body:
        if isinstance(node, Assign) and node.statement in chosen:
            return (replace(node, value=_contracted(node.value, node.target)),)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _contracted(value: Expr, target: Expr) -> Expr:
    if not target.dtype.is_float or not isinstance(value, Binary):
        return value
    one, other = value.left, value.right
    match value.op:
        case BinaryOp.ADD if one == target:
            return _added(other, target, value)
        case BinaryOp.ADD if other == target:
            return _added(one, target, value)
        case BinaryOp.SUB if one == target:
            return _added(Unary(UnaryOp.NEG, other, other.dtype), target, value)
        case _:
            return value


def _added(term: Expr, sum_: Expr, value: Expr) -> Expr:
    """Return `sum_ + term` rounded once where `term` is a product, else `value`."""
    match term:
        case Binary(op=BinaryOp.MUL):
            return _fma(term.left, term.right, sum_)
        case Unary(op=UnaryOp.NEG, operand=Binary(op=BinaryOp.MUL) as product):
            negative = Unary(UnaryOp.NEG, product.left, product.dtype)
            return _fma(negative, product.right, sum_)
        case _:
            return value


def _fma(a: Expr, b: Expr, c: Expr) -> Expr:
    return Call(MathFunc.FMA, (a, b, c), c.dtype)
