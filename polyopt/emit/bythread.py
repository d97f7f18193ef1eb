"""By thread: let iterations that run at the same time keep a temporary in memory of their thread.

In: a lowered body and, per temporary, the loop its values live in.  Out: the body with temporaries
declared in that loop, as large as one iteration needs, and the arrays that are left.
Leaves alone: temporaries that would be no smaller, whose extents are not known where threads
begin, and whose iterations other than threads run at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from polyopt.dataclass import replace
from polyopt.emit.footprints import Dim, needed_dimensions, with_array
from polyopt.emit.localize import mentions
from polyopt.emit.nodes import expressions, nested, with_nested
from polyopt.emit.regions import nodes, whole_arrays
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, VectorLoad, walk
from polyopt.ir.loops import CONCURRENT, Body, For, LoopKind, Node, Space
from polyopt.ir.scop import Array, Role


def give_to_threads(
    body: Body, arrays: tuple[Array, ...], homes: dict[str, str], sizes: Collection[str]
) -> tuple[Body, tuple[Array, ...]]:
    """Return the body and the arrays that are left; `sizes` are known where threads begin."""
    left: list[Array] = []
    for array in arrays:
        home = homes.get(array.name)
        found = None if home is None else _given(body, array, home, sizes)
        if found is None:
            left.append(array)
        else:
            body = found
    return body, tuple(left)


def _given(body: Body, array: Array, home: str, sizes: Collection[str]) -> Body | None:
    """Return the body with the array declared in the loops called `home`, or None."""
    if array.role is not Role.TEMP or not array.shape or array.turn is not None:
        return None
    if any(array.name in whole_arrays(n) or _is_placed_by_data(n, array) for n in nodes(body)):
        return None
    homes = [loops for loops in _loops(body, home, ()) if _mention(loops[-1], array)]
    if not homes or not all(map(_is_of_threads, homes)):
        return None
    needed = {id(loops[-1]): needed_dimensions(loops[-1], array, exact=True) for loops in homes}
    extents = {tuple((dim.position, dim.extent) for dim in dims) for dims in needed.values()}
    first, *others = extents
    if others or not first or first == tuple(enumerate(array.shape)):
        return None
    if not all(_is_known(extent, sizes) for _, extent in first):
        return None
    changed = _declared(body, array, needed)
    return None if any(mentions(node, array.name) for node in changed) else changed


def _is_placed_by_data(node: Node, array: Array) -> bool:
    """Tell whether elements decide which place is used: no proof follows that."""
    places = (
        part
        for expr in expressions(node)
        for part in walk(expr)
        if isinstance(part, Load | VectorLoad) and part.array == array.name
    )
    return any(isinstance(p, Load) for place in places for i in place.index for p in walk(i))


def _loops(body: Body, home: str, around: tuple[For, ...]) -> list[tuple[For, ...]]:
    """Return the loops called `home`, each behind those around it."""
    found: list[tuple[For, ...]] = []
    for node in body:
        loops = (*around, node) if isinstance(node, For) else around
        if isinstance(node, For) and node.label == home:
            found.append(loops)
        else:
            found += (one for inner in nested(node) for one in _loops(inner, home, loops))
    return found


def _mention(loop: For, array: Array) -> bool:
    return any(mentions(node, array.name) for node in loop.body)


def _is_of_threads(loops: tuple[For, ...]) -> bool:
    """Tell whether threads, and nothing else, run iterations around a home together."""
    return {loop.kind for loop in loops if loop.kind in CONCURRENT} == {LoopKind.PARALLEL}


def _is_known(extent: Expr, sizes: Collection[str]) -> bool:
    """Tell whether an extent is known where threads begin."""
    parts = list(walk(extent))
    if any(isinstance(part, Load | Symbol | Iter) for part in parts):
        return False
    return all(part.name in sizes for part in parts if isinstance(part, Param))


def _declared(body: Body, array: Array, needed: Mapping[int, list[Dim]]) -> Body:
    return tuple(_with_array(node, array, needed) for node in body)


def _with_array(node: Node, array: Array, needed: Mapping[int, list[Dim]]) -> Node:
    dims = needed.get(id(node))
    if isinstance(node, For) and dims is not None:
        return replace(node, body=with_array(node, array, dims, Space.THREAD))
    return with_nested(node, tuple(_declared(part, array, needed) for part in nested(node)))
