"""Contract `x = x + a*b` of reassociable or fusible statements to `x = fma(a, b, x)`.

In: a `LoopFunction`, which names these statements.  Out: the contraction; where the order is open,
`x + (a*b + c*d)` becomes `fma(c, d, fma(a, b, x))`.
Leaves: every other product and sum, which round twice as in the source.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import bottom_up
from polyopt.ir.expr import Call, Expr, MathFunc, Unary, UnaryOp
from polyopt.ir.loops import Assign, Body, LoopFunction, Node
from polyopt.ir.sums import added_products

MOST = 4
"""Products of one term that are added one by one: each waits for the one before."""


def contract(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the updates of its reassociable and fusible statements contracted."""

    def rule(node: Node) -> Body:
        if not isinstance(node, Assign) or not node.target.dtype.is_float:
            return (node,)
        if node.statement in fn.reassociable:
            return (replace(node, value=_contracted(node.value, node.target, most=MOST)),)
        if node.statement in fn.fusible:
            return (replace(node, value=_contracted(node.value, node.target, most=1)),)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _contracted(value: Expr, target: Expr, most: int) -> Expr:
    """Return `value` as one product after the other added to `target`, at most so many."""
    found = added_products(value)
    if found is None or found[0] != target or len(found[1]) > most:
        return value
    total = target
    for is_negative, product in found[1]:
        left = product.left
        factor = Unary(UnaryOp.NEG, left, left.dtype) if is_negative else left
        total = Call(MathFunc.FMA, (factor, product.right, total), total.dtype)
    return total
