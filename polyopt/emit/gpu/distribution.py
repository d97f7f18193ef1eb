"""Distribute parallel loops over their bodies, so that loops of one kind are perfectly nested.

In: a loop across blocks, or across threads.  Out: a sequence of equal loops, each with those of
its kind directly inside it, or with none.
Where the body declares locals, the loops inside run in order instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.ir.expr import Expr, Unary, UnaryOp, loads
from polyopt.ir.loops import Body, Declare, DeclareArray, For, If, LoopKind, Node
from polyopt.ir.nodes import has_loop, map_bodies
from polyopt.ir.types import DType


def in_order(body: Body, kind: LoopKind) -> Body:
    """Return `body` with its loops of `kind` run in order."""
    return tuple(_in_order(node, kind) for node in body)


def _in_order(node: Node, kind: LoopKind) -> Node:
    node = map_bodies(node, in_order, kind)
    if isinstance(node, For) and node.kind is kind:
        return replace(node, kind=LoopKind.SEQUENTIAL).annotated(reductions=())
    return node


def distribute_loop(loop: For) -> tuple[For, ...]:
    """Return the loops after distribution, each with its kind of loops directly inside."""
    if not has_loop(loop.body, loop.kind):
        return (loop,)
    if any(isinstance(node, Declare | DeclareArray) for node in loop.body):
        return (replace(loop, body=in_order(loop.body, loop.kind)),)
    return tuple(replace(loop, body=part) for part in _parts(loop.body, loop.kind))


def _parts(body: Body, kind: LoopKind) -> Iterator[Body]:
    """Yield `body` in parts: a nest that begins with loops of `kind`, or none of them."""
    others: list[Node] = []
    for node in body:
        pieces = tuple(_pieces(node, kind))
        if not pieces:
            others.append(_in_order(node, kind))
            continue
        if others:
            yield tuple(others)
            others = []
        yield from ((piece,) for piece in pieces)
    if others:
        yield tuple(others)


def _pieces(node: Node, kind: LoopKind) -> Iterator[Node]:
    """Yield the parts of a nest of `kind`, with the conditions around it."""
    match node:
        case For() if node.kind is kind:
            yield from distribute_loop(node)
        case If() if not loads(node.condition) and has_loop((node,), kind):
            for condition, body in _branches(node):
                yield from (If(condition, part) for part in _parts(body, kind))
        case _:
            pass


def _branches(node: If) -> Iterator[tuple[Expr, Body]]:
    if node.then:
        yield node.condition, node.then
    if node.otherwise:
        yield Unary(UnaryOp.INVERT, node.condition, DType.BOOL), node.otherwise


def directly_inside(body: Body, kind: LoopKind) -> tuple[tuple[Expr, ...], For] | None:
    """Return the loop of `kind` that `body` is, and the conditions around it."""
    match body:
        case (For() as loop,) if loop.kind is kind:
            return (), loop
        case (If(otherwise=()) as test,) if not loads(test.condition):
            found = directly_inside(test.then, kind)
            return None if found is None else ((test.condition, *found[0]), found[1])
        case _:
            return None
