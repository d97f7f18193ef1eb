"""Chains of choices that lanes make together, as the loops in order that they are equal to.

In: loops of the form that `forms` has checked (`ir.extremum`).  Out: the same, none EXTREMUM.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.loops import Body, For, LoopKind, Node
from polyopt.ir.nodes import map_bodies


def without_extrema(body: Body) -> Body:
    """Return `body` with its EXTREMUM loops in order."""
    return tuple(map(_node, body))


def _node(node: Node) -> Node:
    match node:
        case For(kind=LoopKind.EXTREMUM):
            return replace(node, kind=LoopKind.SEQUENTIAL)
        case _:
            return map_bodies(node, without_extrema)
