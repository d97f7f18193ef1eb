"""Panels: copy the operand that a row of register tiles shares into a small contiguous array.

In: `for it: for k: for i (UNROLL): for j (VECTOR): …` where an operand depends on k and j alone.
Out: the same loops reading the operand from a local `panel[k][j]`, filled before loop `it`.
Leaves alone: operands that the nest writes, panels that are not of constant size or too large.
As in Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from polyopt.emit.extents import extent_of
from polyopt.emit.nodes import map_node, nested, with_nested
from polyopt.emit.passes.disjoint import Box, Place
from polyopt.emit.passes.rewriting import trip_count
from polyopt.ir.expr import (
    Expr,
    Iter,
    Load,
    integer,
    linear,
    loads,
    normalize,
    sub,
    substitute,
    walk,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    LoopFunction,
    LoopKind,
    Node,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.machine import Machine


def pack_panels(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with shared operands of register tiles packed into panels of at most an L1."""
    taken = {array.name for array in fn.arrays} | set(fn.params)

    return replace(fn, body=_inside(fn.body, (), taken, machine.l1))


def _inside(body: Body, around: tuple[For, ...], taken: set[str], most: int) -> Body:
    """Return `body`, which the loops `around` are around, with operands packed."""
    found: list[Node] = []
    for node in body:
        nest = _register_nest(node)
        if nest is not None:
            found += _packed(nest, around, taken, most)
            continue
        inner = (*around, node) if isinstance(node, For) else around
        parts = tuple(_inside(part, inner, taken, most) for part in nested(node))
        found.append(with_nested(node, parts) if parts else node)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Nest:
    """Loops around a register tile: over tiles, depth, rows, lanes."""

    tiles: For
    depth: For
    rows: For
    lanes: For


def _register_nest(node: Node) -> _Nest | None:
    """Return the nest below `node` when it has the shape this pass packs for."""
    loops = []
    while isinstance(node, For) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if len(loops) < 4 or not isinstance(node, Assign):
        return None
    tiles, depth, rows, lanes = loops[:4]
    kinds = (tiles.kind, depth.kind, rows.kind, lanes.kind)
    wanted = (LoopKind.SEQUENTIAL, LoopKind.SEQUENTIAL, LoopKind.UNROLL, LoopKind.VECTOR)
    if kinds != wanted or len(loops) != 4 or any(loop.step != 1 for loop in loops):
        return None
    return _Nest(*loops)


def _packed(nest: _Nest, around: tuple[For, ...], taken: set[str], most: int) -> Body:
    depth = extent_of(nest.depth)
    width = trip_count(nest.lanes)
    inner = {nest.tiles.iter, nest.rows.iter}
    bounds = (nest.depth.lower, nest.depth.upper, nest.lanes.lower, nest.lanes.upper)
    if depth is None or width is None or any(_mentions(b, inner) or loads(b) for b in bounds):
        return (nest.tiles,)
    found: list[Node] = []
    tiles: Node = nest.tiles
    for load in _shared(nest, around, inner):
        if depth.size * width * load.dtype.size > most:
            continue
        name = _fresh(f"{load.array}_panel", taken)
        taken.add(name)
        shape = (integer(depth.size), integer(width))
        index = (
            normalize(sub(Iter(nest.depth.iter), depth.origin)),
            normalize(sub(Iter(nest.lanes.iter), nest.lanes.lower)),
        )
        cell = Load(name, index, load.dtype)
        found.append(DeclareArray(Array(name, load.dtype, shape, Role.TEMP)))
        lanes = replace(nest.lanes, kind=LoopKind.SEQUENTIAL, body=(Assign(cell, load),))
        found.append(replace(nest.depth, body=(lanes,)))
        tiles = map_node(tiles, partial(_exchanged, load, cell))
    return (*found, tiles)


def _exchanged(old: Expr, new: Expr, part: Expr) -> Expr | None:
    return new if part == old else None


def _mentions(expr: Expr, names: set[str]) -> bool:
    return any(isinstance(part, Iter) and part.name in names for part in walk(expr))


def _shared(nest: _Nest, around: tuple[For, ...], inner: set[str]) -> list[Load]:
    """Return the loads that depend on depth and lane but not on the row or the tile."""
    (assign,) = nest.lanes.body
    assert isinstance(assign, Assign)
    found: list[Load] = []
    for part in walk(assign.value):
        if not isinstance(part, Load) or part in found:
            continue
        own = any(read.array == assign.target.array for read in loads(part))
        if own and (_is_contiguous(part, nest.lanes) or _is_overwritten(part, nest, around)):
            continue
        depends = _mentions(part, {nest.lanes.iter}) and _mentions(part, {nest.depth.iter})
        if depends and not _mentions(part, inner) and part.dtype is not DType.BOOL:
            found.append(part)
    return found


def _is_contiguous(load: Load, lanes: For) -> bool:
    """Tell whether lanes lie side by side: then a part of the nest's own array stays in place."""
    *outer, last = load.index
    step = dict(linear(last).terms).get(Iter(lanes.iter))
    return step == 1 and not any(_mentions(i, {lanes.iter}) for i in outer)


def _is_overwritten(load: Load, nest: _Nest, around: tuple[For, ...]) -> bool:
    """Tell whether some iteration of the nest may write what another one reads."""
    (assign,) = nest.lanes.body
    assert isinstance(assign, Assign)
    if any(read.array == assign.target.array for i in load.index for read in loads(i)):
        return True
    other = {loop.iter: Iter(f"{loop.iter}'") for loop in (nest.depth, nest.lanes)}
    again = tuple(
        replace(
            loop,
            iter=other[loop.iter].name,
            lower=substitute(loop.lower, other),
            upper=substitute(loop.upper, other),
        )
        for loop in (nest.depth, nest.lanes)
    )
    box = Box((*around, nest.tiles, nest.depth, nest.rows, nest.lanes, *again))
    read = Place(tuple(substitute(i, other) for i in load.index))
    return not box.are_disjoint(Place(assign.target.index), read)


def _fresh(wish: str, taken: set[str]) -> str:
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}{number}", number + 1
    return name
