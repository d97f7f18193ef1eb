"""Unroll loops of kind UNROLL with a constant trip count.

In: a `LoopFunction`.  Out: the same instances in the same order.
Leaves: loops whose copies would be more than `LIMIT` nodes, and loops of unknown length.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import (
    Names,
    bottom_up,
    local_names,
    renamed,
    statements,
    substituted,
    trip_count,
)
from polyopt.emit.regions import is_settled, leaves_itself
from polyopt.ir.expr import add, integer
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Body, For, LoopFunction, LoopKind, Node

LIMIT = 1024


def unroll(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its UNROLL loops replaced by copies."""
    names = Names(fn)

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.UNROLL:
            return unrolled(node, names)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def unrolled(loop: For, names: Names) -> Body:
    """Return the copies of `loop`'s body, or `loop` as a sequential loop."""
    count = trip_count(loop)
    if count is None or leaves_itself(loop.body) or not is_settled(loop.lower, loop.body):
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    if count * statements(loop.body) > LIMIT:
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    copies: list[Node] = []
    for number in range(count):
        value = normalize(add(loop.lower, integer(number * loop.step)))
        body = substituted(loop.body, {loop.iter: value})
        if number > 0:
            body = renamed(body, {name: names.fresh(name) for name in local_names(body)})
        copies += body
    return tuple(copies)
