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
    if not target.dtype.is_float:
        return value
    match value:
        case Binary(op=BinaryOp.ADD, left=sum_, right=Binary(op=BinaryOp.MUL) as product):
            if sum_ == target:
                return _fma(product.left, product.right, sum_)
        case Binary(op=BinaryOp.ADD, left=Binary(op=BinaryOp.MUL) as product, right=sum_):
            if sum_ == target:
                return _fma(product.left, product.right, sum_)
        case Binary(op=BinaryOp.SUB, left=sum_, right=Binary(op=BinaryOp.MUL) as product):
            if sum_ == target:
                negative = Unary(UnaryOp.NEG, product.left, product.dtype)
                return _fma(negative, product.right, sum_)
        case _:
            pass
    return value


def _fma(a: Expr, b: Expr, c: Expr) -> Expr:
    return Call(MathFunc.FMA, (a, b, c), c.dtype)
