"""Ask for shorter vectors where lanes load elements from places that data say.

In: a `LoopFunction`, the machine.  Out: the same loops; those with gathers ask the C compiler for
vectors of `BYTES`.  Elements are gathered one by one: half a vector waits for half as many of them,
and on processors whose gathers are slow the longest vectors take twice the time.
Leaves: loops without gathers, machines whose vectors are no longer.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.dataclass import replace
from polyopt.ir.expr import Expr, Load, Symbol, loads, walk
from polyopt.ir.loops import Body, Declare, For, LoopFunction, LoopKind, Node
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, map_bodies, own_expressions
from polyopt.machine import Machine

BYTES = 32  # of the vectors that are filled element by element


def shorten_gathering_vectors(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return the loops, with `simd_length` where lanes gather."""
    return fn if machine.vector_bytes <= BYTES else replace(fn, body=_inside(fn.body))


def _inside(body: Body) -> Body:
    return tuple(_asking(node) for node in body)


def _asking(node: Node) -> Node:
    if isinstance(node, For) and node.kind is LoopKind.VECTOR:
        widest = _gathered(node) if node.lanes == 1 else 0
        return node.annotated(simd_length=BYTES // widest) if widest else node
    return map_bodies(node, _inside)


def _gathered(loop: For) -> int:
    """Return the bytes of the widest element that lanes load from places that data say, or 0."""
    widest = 0
    varying = set[str]()
    for node in all_nodes(loop.body):
        for load in (load for expr in own_expressions(node) for load in loads(expr)):
            if any(_is_read_by_lanes(index, loop, varying) for index in load.index):
                widest = max(widest, load.dtype.size)
        if isinstance(node, Declare) and _is_read_by_lanes(node.value, loop, varying):
            varying.add(node.name)
    return widest


def _is_read_by_lanes(expr: Expr, loop: For, varying: Collection[str]) -> bool:
    """Tell whether an expression has an element, or a local of `varying`, that lanes differ in."""
    return any(
        part.name in varying
        if isinstance(part, Symbol)
        else isinstance(part, Load) and any(has_iterator(i, {loop.iter}) for i in part.index)
        for part in walk(expr)
    )
