"""Promote arrays of a block to registers where every element belongs to one thread.

In: kernels with SHARED arrays.  Out: those arrays as REGISTER, with subscripts that count a
thread's own elements, in loops that are unrolled.
Leaves: arrays of which a thread would have too many elements, or that threads share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd, prod

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.conflicts import collect_accesses
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.full_tiles import full_tiles
from polyopt.emit.gpu.nests import ThreadNest, rebuilt, thread_nest
from polyopt.emit.regions import expressions
from polyopt.emit.storage_scope import mentions
from polyopt.ir.affine import coalesced
from polyopt.ir.array import Array
from polyopt.ir.budget import optional
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    add,
    integer,
    mul,
    operands,
    sub,
    walk,
)
from polyopt.ir.linear import linear, normalize, slope_of
from polyopt.ir.loops import (
    Body,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.matrix import has_matrix
from polyopt.ir.names import reads
from polyopt.ir.nodes import all_nodes, bodies, changed_body, map_bodies, with_bodies
from polyopt.ir.types import DType

MOST_BYTES = 512
"""Registers of a thread that one array may take."""
BUDGET = 10_000_000  # isl operations for one array
_COUNTED = (LoopKind.UNROLL, LoopKind.MATRIX)
MOST = 0.2  # of the time that is left
_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def promote_to_registers(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with thread-private shared arrays in registers."""
    return in_each_block(fn, _promoted)


def _promoted(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    for node in all_nodes(body):
        if isinstance(node, DeclareArray) and node.space is Space.SHARED:
            with optional(f"registers for {node.array.name}", BUDGET, MOST):
                body = _kept(kernel, body, node.array, fn, around) or body
    return body


def _kept(
    kernel: Kernel, body: Body, array: Array, fn: LoopFunction, around: tuple[For, ...]
) -> Body | None:
    """Return the block's code with `array` in registers; None where it has to be shared."""
    tiled = _tiled(body, array.name)
    if tiled is None:
        return None
    parts = list(_parts(tiled, array.name, {}))
    if not parts or any(part is None for part in parts):
        return None
    layout = _layout([part for part in parts if part is not None])
    size = prod(layout.shape) * array.dtype.size
    if size > MOST_BYTES or not _is_own(kernel, tiled, array, layout, fn, around):
        return None
    shape = (integer(kernel.threads), *map(integer, layout.shape))
    declared = replace(array, shape=shape)
    changed = _changed(tiled, kernel.threads, array.name, layout, is_trial=False)
    return _declared(changed, declared)


# -- the nests that access the array


def _tiled(body: Body, array: str) -> Body | None:
    """Return the code with the nests of `array` in full tiles; None if other code accesses it."""
    result: list[Node] = []
    for node in body:
        match node:
            case For(kind=LoopKind.THREAD) if mentions(node, array):
                nest = thread_nest(node)
                if nest.combined == array:  # the first of several threads has its elements
                    return None
                whole = has_matrix(nest.body)
                inside = nest.body if whole else full_tiles(nest.body, array)
                result.append(rebuilt(nest, inside))
            case For(kind=LoopKind.THREAD) | DeclareArray():
                result.append(node)
            case _:
                if array in reads(*expressions(node)):
                    return None
                inner = [_tiled(part, array) for part in bodies(node)]
                if None in inner:
                    return None
                result.append(with_bodies(node, tuple(part for part in inner if part is not None)))
    return tuple(result)


# -- a thread's own elements


@dataclass(frozen=True, slots=True)
class _Residue:
    """One subscript of one access: what is left of it in its thread, and the values that has."""

    dim: int
    rest: Expr
    least: int
    most: int
    factors: tuple[tuple[int, int], ...]  # of iterators, each with the number of its values


@dataclass(frozen=True, slots=True)
class _RegisterLayout:
    """How a thread's elements are counted: from `least`, in each dimension.

    `weights` gives what one step of an iterator with a factor moves; what is constant moves in
    steps of `steps`.
    """

    least: tuple[int, ...]
    steps: tuple[int, ...]
    weights: tuple[Mapping[int, int], ...]
    shape: tuple[int, ...]


def _parts(body: Body, array: str, extents: dict[str, int]) -> Iterator[_Residue | None]:
    """Yield the subscripts of an array in the nests of `body`; `extents` of loops around them."""
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            nest = thread_nest(node)
            yield from _parts_in(nest.body, nest, array, extents)
            continue
        for below in bodies(node):
            yield from _parts(below, array, _counted(node, extents))


def _parts_in(
    body: Body, nest: ThreadNest, array: str, extents: dict[str, int]
) -> Iterator[_Residue | None]:
    for node in body:
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, Load) and part.array == array:
                    for dim, index in enumerate(part.index):
                        yield _part(dim, index, nest, extents)
        for below in bodies(node):
            yield from _parts_in(below, nest, array, _counted(node, extents))


def _counted(node: Node, extents: dict[str, int]) -> dict[str, int]:
    """Return the extents inside a node: of loops that are unrolled and count from 0, at most."""
    if not isinstance(node, For):
        return extents
    inside = {name: n for name, n in extents.items() if name != node.iter}
    if node.kind in _COUNTED and node.lower == integer(0):
        ends = [linear(end) for end in operands(node.upper, BinaryOp.MIN)]
        counts = [end.constant for end in ends if not end.terms]
        if counts:
            inside[node.iter] = min(counts)
    return inside


def _part(dim: int, index: Expr, nest: ThreadNest, extents: dict[str, int]) -> _Residue | None:
    """Return a subscript without what the thread's number decides; None if more is left."""
    rest = _rest(index, nest)
    value = linear(rest)
    least = most = value.constant
    factors = []
    for atom, factor in value.terms:
        if not isinstance(atom, Iter) or atom.name not in extents:
            return None
        reach = factor * (extents[atom.name] - 1)
        least, most = least + min(reach, 0), most + max(reach, 0)
        factors.append((factor, extents[atom.name]))
    return _Residue(dim, rest, least, most, tuple(factors))


def _rest(index: Expr, nest: ThreadNest) -> Expr:
    """Return a subscript minus its multiples of the places in the nest."""
    for loop in reversed(nest.loops):  # inner ones may count from outer ones
        factor = slope_of(index, loop.iter)
        index = sub(index, mul(integer(factor), sub(Iter(loop.iter), loop.lower)))
    return normalize(index)


def _layout(parts: list[_Residue]) -> _RegisterLayout:
    least, steps, weights, shape = [], [], [], []
    for dim in range(max(part.dim for part in parts) + 1):
        here = [part for part in parts if part.dim == dim]
        low, high = min(part.least for part in here), max(part.most for part in here)
        factors = {factor for part in here for factor, _ in part.factors}
        step = gcd(*factors, *(p.least - low for p in here)) or 1
        count, own = (high - low) // step + 1, {factor: factor // step for factor in factors}
        digits = _digits(here, low)
        if digits is not None and prod(digits.values()) < count:
            count, own = prod(digits.values()), {}
            for factor in sorted(digits):
                own[factor] = prod(n for smaller, n in digits.items() if smaller < factor)
        least.append(low)
        steps.append(step)
        weights.append(own)
        shape.append(count)
    return _RegisterLayout(tuple(least), tuple(steps), tuple(weights), tuple(shape))


def _digits(parts: list[_Residue], low: int) -> dict[int, int] | None:
    """Return factors with the number of their values, if each value is one choice of these.

    So are strided groups of neighbours: 0 to 3 and 64 to 67 are digits of 1 and of 64.
    """
    if any(part.least != low for part in parts):
        return None
    counts: dict[int, int] = {}
    for factor, count in (pair for part in parts for pair in part.factors):
        counts[factor] = max(count, counts.get(factor, 1))
    reach = 0
    for factor in sorted(counts):
        if factor <= reach:
            return None
        reach += factor * (counts[factor] - 1)
    return counts


def _place(index: tuple[Expr, ...], nest: ThreadNest, layout: _RegisterLayout) -> tuple[Expr, ...]:
    """Return the subscripts among a thread's own elements."""
    found = []
    for dim, part in enumerate(index):
        value = linear(sub(_rest(part, nest), integer(layout.least[dim])))
        total: Expr = integer(value.constant // layout.steps[dim])
        for atom, factor in value.terms:
            total = add(total, mul(integer(layout.weights[dim][factor]), atom))
        found.append(normalize(total))
    return tuple(found)


def _changed(
    body: Body, threads: int, array: str, layout: _RegisterLayout, *, is_trial: bool
) -> Body:
    """Return the code with the array's subscripts as a thread counts; a trial keeps the others."""
    result: list[Node] = []
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.THREAD):
            result.append(map_bodies(node, _changed, threads, array, layout, is_trial=is_trial))
            continue
        if not mentions(node, array):
            result.append(node)
            continue
        nest = thread_nest(node)
        number = nest.number
        if nest.size > threads:
            number = Binary(BinaryOp.MOD, number, integer(threads), DType.INT64)

        def rule(part: Expr, nest: ThreadNest = nest, number: Expr = number) -> Expr | None:
            if isinstance(part, Load) and part.array == array:
                own = (number, *_place(part.index, nest, layout))
                return replace(part, index=(*own, *part.index) if is_trial else own)
            return None

        result.append(rebuilt(nest, changed_body(nest.body, rule)))
    return tuple(result)


def _declared(body: Body, array: Array) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, DeclareArray) and node.array.name == array.name:
            result.append(DeclareArray(array, Space.REGISTER))
        else:
            result.append(map_bodies(node, _declared, array))
    return tuple(result)


def _is_own(
    kernel: Kernel, body: Body, array: Array, layout: _RegisterLayout, fn: LoopFunction,
    around: tuple[For, ...],
) -> bool:  # fmt: skip
    """Tell whether every element is one place of one thread, and every place one element."""
    trial = _changed(body, kernel.threads, array.name, layout, is_trial=True)
    # in all iterations, whether they exist or not: quick to answer, and often enough
    return any(
        _is_one_to_one(kernel, code, array, fn, around)
        for code in dict.fromkeys((_unconditional(trial), trial))
    )


def _unconditional(body: Body) -> Body:
    """Return `body` with both branches after all conditions, which are still read."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, If):
            result.append(replace(node, then=(), otherwise=()))
            result += _unconditional((*node.then, *node.otherwise))
        else:
            result.append(map_bodies(node, _unconditional))
    return tuple(result)


def _is_one_to_one(
    kernel: Kernel, body: Body, array: Array, fn: LoopFunction, around: tuple[For, ...]
) -> bool:
    """Tell whether subscripts of `array`, its own and those of its places, tell each other."""
    collected = collect_accesses(kernel, body, fn, around, array.name)
    sets = [t.reached.domain() for t in collected.found if t.array == array.name]
    if not sets:
        return False
    every = sets[0]
    for one in sets[1:]:
        every = every.union(one)
    every = coalesced(every)
    rank = len(array.shape)
    places = isl.Map.from_range(every).move_dims(_IN, 0, _OUT, 0, rank + 1)
    return bool(places.is_single_valued() and places.is_injective())
