"""Mark the loops that make nothing but an extremum, so that lanes make it together.

In: a `LoopFunction`.  Out: the same with EXTREMUM loops (`ir.extremum`), which the printer spells.
Leaves alone: loops of fewer iterations than `LEAST`, over elements far apart, inside lanes already.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.passes.rewriting import trip_count
from polyopt.emit.regions import is_settled
from polyopt.ir.extremum import extremum_of
from polyopt.ir.loops import Body, For, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import map_bodies

LEAST = 16
"""Iterations below which lanes gain nothing."""


def vectorize_extrema(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its chains of choices as EXTREMUM loops."""
    rows = row_arrays(fn)

    def body(nodes: Body) -> Body:
        return tuple(map(rule, nodes))

    def rule(node: Node) -> Node:
        match node:
            case For(kind=LoopKind.VECTOR):
                return node
            case For(kind=LoopKind.SEQUENTIAL, lanes=1) if is_contiguous(node, rows):
                is_wanted = extremum_of(node) is not None and not _is_short(node)
                is_wanted = is_wanted and is_settled(node.upper, node.body)
                return replace(node, kind=LoopKind.EXTREMUM) if is_wanted else node
            case _:
                return map_bodies(node, body)

    return replace(fn, body=body(fn.body))


def _is_short(loop: For) -> bool:
    count = trip_count(loop)
    return count is not None and count < LEAST
