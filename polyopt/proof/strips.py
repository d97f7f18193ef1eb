"""Undo strip-mining of concurrent loops.

In: a loop AST.  Out: the same with a loop over strips, and the loop within one, as one concurrent
loop.  That allows more orders than the strips do, so that claims proven of it hold for them, too.
Strips that were made for other reasons have names of their own.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import BinaryOp, Expr, Iter, add, integer, operands
from polyopt.ir.linear import linear
from polyopt.ir.loops import CONCURRENT, Body, For, If, Node
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, bodies, map_bodies, own_expressions, with_bodies


def without_strips(body: Body) -> Body:
    """Return `body` with such loops undone."""
    return tuple(_node(node) for node in body)


def _node(node: Node) -> Node:
    node = map_bodies(node, without_strips)
    if not isinstance(node, For) or node.reductions:
        return node
    inner = _within(node, node.body)
    if inner is None or _is_used(node, inner):
        return node
    rest = _without(node.body, inner)
    return replace(inner, lower=node.lower, upper=node.upper, body=rest)


def _within(strips: For, body: Body) -> For | None:
    """Return the loop over one of `strips`, with only loops and conditions around."""
    if len(body) != 1:
        return None
    (node,) = body
    match node:
        case For() if _is_strip(strips, node):
            return node
        case For(reductions=()):
            return _within(strips, node.body)
        case If(otherwise=()):
            return _within(strips, node.then)
        case _:
            return None


def _is_strip(strips: For, loop: For) -> bool:
    if loop.kind not in CONCURRENT or loop.reductions or loop.label != strips.label:
        return False
    if loop.lower != Iter(strips.iter):
        return False
    end = add(Iter(strips.iter), integer(strips.step))
    found = operands(loop.upper, BinaryOp.MIN)
    others = {part for part in found if linear(part) != linear(end)}
    return (
        len(others) < len(found)
        and others == set(operands(strips.upper, BinaryOp.MIN))
        and strips.step % loop.step == 0
    )


def _is_used(strips: For, inner: For) -> bool:
    """Tell whether anything but the bounds of `inner` depends on the strip."""
    for node in all_nodes(strips.body):
        if node is not inner and any(has_iterator(e, (strips.iter,)) for e in _expressions(node)):
            return True
    return False


def _expressions(node: Node) -> tuple[Expr, ...]:
    instance = getattr(node, "instance", ())
    target = getattr(node, "target", None)
    return (*own_expressions(node), *instance, *(() if target is None else (target,)))


def _without(body: Body, inner: For) -> Body:
    """Return `body` with `inner` replaced by its own body."""
    (node,) = body
    if node is inner:
        return inner.body
    return (
        with_bodies(node, tuple(_without(part, inner) if part else () for part in bodies(node))),
    )
