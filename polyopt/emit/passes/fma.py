"""Contract products and the sums they are added to: `c + a*b` to `fma(a, b, c)`.

In: a `LoopFunction`, which names the statements that permit it.  Out: the contraction of updates
`x = x + a*b` of reassociable statements, several products one by one (`x + (a*b + c*d)` becomes
`fma(c, d, fma(a, b, x))`), and of every sum in the values of fusible statements.
Leaves: every other product and sum, which round twice as in the source; comparisons, subscripts;
loops that matrix instructions run.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import Call, Expr, MathFunc, Symbol, Unary, UnaryOp, children, with_children
from polyopt.ir.loops import Assign, Declare, For, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.nodes import map_inner
from polyopt.ir.sums import SignedProduct, added_products, adds_product, sums_inside

MOST = 4
"""Products of one term that are added one by one: each waits for the one before."""


def contract(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the sums of its reassociable and fusible statements contracted."""

    def renewed(node: Node) -> Node:
        if isinstance(node, Assign):
            stays = node.is_atomic or not node.target.dtype.is_float
            return node if stays else replace(node, value=_value(fn, node))
        if isinstance(node, Declare | SetLocal):
            return replace(node, value=_value(fn, node)) if node.dtype.is_float else node
        if isinstance(node, For) and node.kind is LoopKind.MATRIX:
            return node
        return map_inner(node, renewed)

    return replace(fn, body=tuple(map(renewed, fn.body)))


def _value(fn: LoopFunction, node: Assign | Declare | SetLocal) -> Expr:
    fuses, value = node.statement in fn.fusible, node.value
    found = added_products(value) if node.statement in fn.reassociable else None
    own = node.target if isinstance(node, Assign) else Symbol(node.name, node.dtype, node.lanes)
    if found is not None and found[0] == own and len(found[1]) <= MOST:
        return _fused(*found, fuses)
    return contracted(value) if fuses else value


def _fused(total: Expr, added: tuple[SignedProduct, ...], fuses: bool) -> Expr:
    """Return one product after the other added to `total`; `fuses`: sums in factors, too."""
    for is_negative, product in added:
        left, right = product.left, product.right
        if fuses:
            left, right = contracted(left), contracted(right)
        factor = Unary(UnaryOp.NEG, left, left.dtype) if is_negative else left
        total = Call(MathFunc.FMA, (factor, right, total), total.dtype)
    return total


def contracted(expr: Expr) -> Expr:
    """Return `expr` with every sum that one product is added to contracted."""
    if not adds_product(expr):
        return expr
    found = added_products(expr)
    if found is not None and len(found[1]) == 1:
        return _fused(contracted(found[0]), found[1], fuses=True)
    inside = sums_inside(expr)
    return with_children(expr, tuple(contracted(p) if p in inside else p for p in children(expr)))
