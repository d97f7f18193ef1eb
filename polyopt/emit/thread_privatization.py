"""Privatize temporaries of parallel loops: one array in the memory of each thread.

In: a lowered body and, per temporary, the loops its values live in.  Out: the body with temporaries
declared in that loop, with the footprint of one iteration, and the remaining arrays.
Leaves: temporaries that would not be smaller, whose extents are not known where threads begin, and
those of loops that other concurrent loops than those of threads surround.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from polyopt.dataclass import replace
from polyopt.emit.footprints import Dim, needed_dimensions, with_array
from polyopt.emit.regions import whole_arrays
from polyopt.emit.storage_scope import mentions
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, walk
from polyopt.ir.loops import CONCURRENT, Body, For, LoopKind, Node, Space
from polyopt.ir.nodes import all_nodes, bodies, map_bodies
from polyopt.ir.scop import Array, Role


def privatize_by_thread(
    body: Body,
    arrays: tuple[Array, ...],
    scopes: Mapping[str, frozenset[str]],
    sizes: Collection[str],
) -> tuple[Body, tuple[Array, ...]]:
    """Return the body and the remaining arrays; `sizes` are known where threads begin."""
    left: list[Array] = []
    for array in arrays:
        scope = scopes.get(array.name)
        found = None if scope is None else _privatized(body, array, scope, sizes)
        if found is None:
            left.append(array)
        else:
            body = found
    return body, tuple(left)


def _privatized(
    body: Body, array: Array, scope: frozenset[str], sizes: Collection[str]
) -> Body | None:
    """Return the body with the array declared in the loops in `scope`, or None."""
    if array.role is not Role.TEMP or not array.shape or array.turn is not None:
        return None
    if any(array.name in whole_arrays(node) for node in all_nodes(body)):
        return None
    scopes = [loops for loops in _loops(body, scope, ()) if _mention(loops[-1], array)]
    if not scopes or not all(map(_is_of_threads, scopes)):
        return None
    needed = {id(loops[-1]): needed_dimensions(loops[-1], array, exact=True) for loops in scopes}
    extents = {tuple((dim.position, dim.extent) for dim in dims) for dims in needed.values()}
    first, *others = extents
    if others or not first or first == tuple(enumerate(array.shape)):
        return None
    if not all(_is_known(extent, sizes) for _, extent in first):
        return None
    changed = _declared(body, array, needed)
    return None if any(mentions(node, array.name) for node in changed) else changed


def _loops(body: Body, scope: frozenset[str], around: tuple[For, ...]) -> list[tuple[For, ...]]:
    """Return the loops in `scope`, each behind those around it."""
    found: list[tuple[For, ...]] = []
    for node in body:
        loops = (*around, node) if isinstance(node, For) else around
        if isinstance(node, For) and node.label in scope:
            found.append(loops)
        else:
            found += (one for inner in bodies(node) for one in _loops(inner, scope, loops))
    return found


def _mention(loop: For, array: Array) -> bool:
    return any(mentions(node, array.name) for node in loop.body)


def _is_of_threads(loops: tuple[For, ...]) -> bool:
    """Tell whether the concurrent loops around a scope are those of threads only."""
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
    return map_bodies(node, _declared, array, needed)
