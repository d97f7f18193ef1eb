"""Vectorize a loop around sums along rows and around short loops, with transposed copies of rows.

In: a fused nest whose deepest statements sum along rows, or run in short loops, inside another loop
that reads the same rows again.  Out: an independent outer loop in tiles of a vector or two, its
iterations in SIMD lanes around every statement; arrays whose rows the lanes would stride over are
copied into transposed tiles (Nuzman and Zaks, "Outer-loop vectorization: revisited for short SIMD
architectures", 2008).
Leaves: nests with contiguous loops that fill vectors; rows that are read once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, takewhile
from math import prod

import islpy as isl

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.ir.expr import Const, Expr, Param, add, integer, walk
from polyopt.ir.isl_ast import bound_expr
from polyopt.ir.linear import normalize
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Access, Array, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.ir.source import Layout
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.schedule import Schedule, Transform, attempt_each
from polyopt.schedule.tree import (
    Band,
    bands,
    find_band,
    leaves,
    member_map,
    path_to,
    statements_of,
)
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import moves_together, read_in, sequences, written_in
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.lane_accesses import is_arithmetic
from polyopt.strategy.row_recurrences import cells
from polyopt.strategy.short_loop_unrolling import trip_count
from polyopt.strategy.strides import Stride, accesses, change_of, directions, stride_of
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Clone, Cut, Fuse, Parallelize, Separate, Split, Tile, Vectorize
from polyopt.transforms.amount import amount

VECTORS = 2  # of iterations around sums of unknown length: two chains of additions overlap
FULL = 0.8  # of the lanes that a loop of few iterations has to use to keep them
MOST_STATEMENTS = 16  # of a nest
LEAST_INNER = 2  # loops inside the lanes: one reads again what another one moves along
WORTH = 1.5  # terms of sums for each element that is copied
USUAL = 8  # iterations of a loop whose length depends on sizes


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A statement; of each loop around it the direction, the length if constant, the strides."""

    statement: Statement
    moves: tuple[tuple[Fraction, ...] | None, ...]
    lengths: tuple[int | None, ...]
    strides: tuple[Mapping[str, Stride], ...]


@dataclass(frozen=True, slots=True)
class _Lanes:
    """A loop for lanes by its position in a band; the dimension that it moves of each array.

    `copied` are arrays with rows to transpose, `private` temporaries of one iteration.  `is_free`:
    some statement accesses no copy.  Then full tiles alone have copies; else the last tile has some
    as well, because isl keeps parts that share a statement in one loop, which temporaries need.
    """

    position: int
    rows: int
    copied: Mapping[str, int]
    private: Mapping[str, int]
    is_free: bool


def vectorize_rows(schedule: Schedule, machine: Machine, skip: Collection[str]) -> Schedule:
    """Return `schedule` with lanes across rows in all nests where that pays, except in `skip`.

    Rows that do not fill a tile are a nest of their own where that is possible, `L0.high`.
    """
    for label in outer_bands(schedule.tree):
        if label not in skip:
            schedule = _in_lanes(schedule, label, machine) or schedule
    return schedule


def small_products(
    schedule: Schedule, machine: Machine, skip: Collection[str]
) -> tuple[Schedule, frozenset[str]]:
    """Return products of small matrices that want lanes across them, with the sum innermost."""
    found = set[str]()
    for label in outer_bands(schedule.tree):
        steps = _sum_last(schedule, label) if label not in skip else None
        ordered = None if steps is None else schedule.attempt(*steps)
        if ordered is not None and _in_lanes(ordered, label, machine) is not None:
            schedule = ordered
            found.add(label)
    return schedule, frozenset(found)


def _sum_last(schedule: Schedule, label: str) -> list[Transform] | None:
    """Return steps that order the loops of a batch of products of constant extents, else None."""
    roles = find_roles(schedule, label)
    if roles is None or not roles.batch:
        return None
    inner = (roles.row, roles.column, roles.depth)
    if any(trip_count(schedule, label, p) is None for p in inner):
        return None
    return order_steps(label, find_band(schedule.tree, label), (*roles.batch, *inner))


def _in_lanes(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with a loop of the band in lanes, or None where that does not pay."""
    if not _is_plain(find_band(schedule.tree, label)):
        return None
    fused = _with_joint_loops(schedule, label)
    found = _find(fused, label, machine)
    if found is None:
        return None
    return _in_whole_tiles(schedule, label, found) or _applied(fused, label, found)


def _is_plain(band: Band) -> bool:
    """Tell whether the nest has independent outer loops, and no loop that is tiled or marked."""
    members = [member for inner in bands(band) for member in inner.members]
    plain = all(m.kind is LoopKind.SEQUENTIAL and not m.is_tile for m in members)
    return plain and band.members[0].coincident


def _with_joint_loops(schedule: Schedule, label: str) -> Schedule:
    """Return `schedule` with loops inside the nest fused that make and use a temporary.

    Lanes lie across the nest's outer loop, so that these loops need not be independent.
    """
    progress = True
    while progress:
        progress = False
        for labels in sequences(find_band(schedule.tree, label)):
            for first, second in combinations(filter(None, labels), 2):
                fused = _joined(schedule, labels, first, second)
                if fused is not None:
                    schedule, progress = fused, True
                    break
            if progress:
                break
    return schedule


def _joined(
    schedule: Schedule, labels: list[str | None], first: str, second: str
) -> Schedule | None:
    """Return `schedule` with the second of two nests using what the first one makes at once."""
    both = written_in(schedule, first) & read_in(schedule, second)
    if not any(schedule.scop.array(name).role is Role.TEMP for name in both):
        return None
    one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
    count = count_similar_loops(schedule.scop.domain, one, two)
    if not count:
        return None
    tried = (
        schedule.attempt(*moves, Fuse(first, second, count))
        for moves in moves_together(labels, first, second)
    )
    return next((fused for fused in tried if fused is not None), None)


def _find(schedule: Schedule, label: str, machine: Machine) -> _Lanes | None:
    """Return the innermost independent loop of the band whose iterations should be lanes."""
    band = find_band(schedule.tree, label)
    names = statements_of(schedule.scop, path_to(schedule.tree, schedule.scop, label)[1])
    if len(names) > MOST_STATEMENTS or not all(
        _is_simple(schedule.scop.statement(name)) for name in names
    ):
        return None
    inside = list(_leaves(schedule, band))
    depth = max(len(leaf.moves) for leaf in inside)
    deepest = [leaf for leaf in inside if len(leaf.moves) == depth]
    homes = contraction_nests(schedule.scop, schedule.tree)
    kept = [leaf for leaf in deepest if not _is_of_one_iteration(leaf, homes)]
    free = sum(1 for _ in takewhile(lambda member: member.coincident, band.members))
    for position in reversed(range(min(free, depth - LEAST_INNER))):
        sums = [leaf for leaf in kept if _is_sum(leaf, position)]
        lanes = _lanes_of(schedule.scop, sums, machine)
        if (
            lanes < 2
            or not _is_filled(inside[0].lengths[position], lanes)
            or any(_fills_lanes(leaf, position, lanes) for leaf in kept)
        ):
            continue
        own = {name for name, loops in homes.items() if f"{label}[{position}]" in loops}
        found = _moved(schedule.scop, inside, position, own)
        if found is None or not _pays(schedule.scop, inside, sums, position, found[0]):
            continue
        is_chain = any(leaf.lengths[-1] is None for leaf in sums)
        rows = lanes * (VECTORS if is_chain else 1)
        return _Lanes(position, rows, *found, _has_free_statement(inside, found[0]))
    return None


def _lanes_of(scop: Scop, sums: list[_Leaf], machine: Machine) -> int:
    """Return how many results of the sums a vector holds, 0 if lanes do not compute them."""
    if not sums or not all(is_arithmetic(leaf.statement.value) for leaf in sums):
        return 0
    sizes = (scop.array(leaf.statement.target.array).dtype.size for leaf in sums)
    return machine.vector_bytes // max(sizes)


def _leaves(schedule: Schedule, band: Band) -> Iterator[_Leaf]:
    """Yield the statements of an outermost nest."""
    scop = schedule.scop
    places = {id(m): (b.label, p) for b in bands(band) for p, m in enumerate(b.members)}
    lengths = {place: trip_count(schedule, *place) for place in places.values()}
    _, domain = path_to(schedule.tree, scop, band.label)
    for members, reached in leaves(band, domain):
        for name in statements_of(scop, reached):
            statement = scop.statement(name)
            moves = directions(members, scop, statement)
            yield _Leaf(
                statement,
                moves,
                tuple(lengths[places[id(member)]] for member in members),
                tuple(_strides(scop, statement, move) for move in moves),
            )


def _strides(
    scop: Scop, statement: Statement, move: tuple[Fraction, ...] | None
) -> Mapping[str, Stride]:
    """Return how a step along `move` changes each access, by reference."""
    return {a.ref: stride_of(a, scop, statement, move) for a in accesses(statement)}


def _is_simple(statement: Statement) -> bool:
    """Tell whether a statement runs always, on elements that the loops determine."""
    return statement.guard is None and all(access.exact for access in accesses(statement))


def _is_of_one_iteration(leaf: _Leaf, homes: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether a statement makes a temporary that only its iteration of all loops uses."""
    return len(homes.get(leaf.statement.target.array, ())) == len(leaf.moves)


def _is_sum(leaf: _Leaf, position: int) -> bool:
    """Tell whether a loop inside the one at `position` updates the same element again."""
    write = leaf.statement.write.ref
    return any(strides[write] is Stride.INVARIANT for strides in leaf.strides[position + 1 :])


def _fills_lanes(leaf: _Leaf, position: int, lanes: int) -> bool:
    """Tell whether a loop inside the one at `position` fills vectors of contiguous elements.

    A loop that sums does not: its last vectors are added across the lanes.
    """
    write = leaf.statement.write.ref
    return any(
        strides[write] is Stride.CONTIGUOUS
        and Stride.STRIDED not in strides.values()
        and _is_filled(length, lanes)
        for strides, length in zip(
            leaf.strides[position + 1 :], leaf.lengths[position + 1 :], strict=True
        )
    )


def _is_filled(length: int | None, lanes: int) -> bool:
    """Tell whether the iterations of a loop fill vectors; of unknown ones there are many."""
    return length is None or length >= FULL * lanes * -(-length // lanes)


def _moved(
    scop: Scop, inside: list[_Leaf], position: int, own: Collection[str]
) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
    """Return the dimension that the loop moves of the arrays to copy, and of `own` temporaries.

    None where lanes would access some array in another way: along several dimensions, or some
    elements for all lanes and others for each.
    """
    found: dict[str, set[int | None]] = {}
    for leaf in inside:
        for access in accesses(leaf.statement):
            if not access.index:
                continue
            steps = change_of(access, leaf.statement, leaf.moves[position])
            if steps is None:
                return None
            moved = [dimension for dimension, step in enumerate(steps) if step]
            is_single = len(moved) == 1 and steps[moved[0]] == 1
            if moved and not is_single:
                return None
            is_row = access.array not in own and _is_contiguous(scop, access, moved)
            found.setdefault(access.array, set()).add(moved[0] if moved and not is_row else None)
    copied, private = dict[str, int](), dict[str, int]()
    for array, dimensions in found.items():
        dimension = dimensions.pop()
        if dimensions:
            return None
        if dimension is not None:
            (private if array in own else copied)[array] = dimension
    return copied, private


def _is_contiguous(scop: Scop, access: Access, moved: list[int]) -> bool:
    """Tell whether the loop moves an access along the array's rows."""
    is_last = moved == [len(access.index) - 1]
    return is_last and scop.array(access.array).layout in (Layout.C, Layout.ROWS)


def _has_free_statement(inside: list[_Leaf], copied: Collection[str]) -> bool:
    """Tell whether some statement accesses none of the `copied` arrays."""
    return any(
        all(access.array not in copied for access in accesses(leaf.statement)) for leaf in inside
    )


def _pays(
    scop: Scop, inside: list[_Leaf], sums: list[_Leaf], position: int, copied: Mapping[str, int]
) -> bool:
    """Tell whether an iteration of the lanes adds `WORTH` terms for each element that it copies."""
    elements = 0
    for name, dimension in copied.items():
        extents = [e for d, e in enumerate(scop.array(name).shape) if d != dimension]
        numbers = [int(e.value.real) for e in extents if isinstance(e, Const)]
        whole = [prod(numbers)] if len(numbers) == len(extents) else []
        accessed = max(_accessed(leaf, position, name) for leaf in inside)
        elements += min([accessed, *whole])
    terms = sum(_iterations(leaf.lengths[position + 1 :]) for leaf in sums)
    return bool(copied) and terms >= WORTH * elements


def _accessed(leaf: _Leaf, position: int, array: str) -> int:
    """Return the number of elements of an array that one iteration of the lanes accesses."""
    inner = list(zip(leaf.strides, leaf.lengths, strict=True))[position + 1 :]
    moving = (
        [length for strides, length in inner if strides[access.ref] is not Stride.INVARIANT]
        for access in accesses(leaf.statement)
        if access.array == array
    )
    return max(map(_iterations, moving), default=0)


def _iterations(lengths: Iterable[int | None]) -> int:
    """Return a product of lengths, those that depend on sizes as usual ones."""
    return prod(USUAL if length is None else length for length in lengths)


def _in_whole_tiles(schedule: Schedule, label: str, found: _Lanes) -> Schedule | None:
    """Return `schedule` with whole tiles of rows in lanes, the rows after them by another nest.

    None where the rows do not begin at 0 or their number is no size.
    """
    end = None if found.position else _end_of_rows(schedule, label)
    if end is None:
        return None
    rows = found.rows
    steps: list[Transform] = [Split(f"{label}[0]", amount(f"{rows} * (({show(end)}) // {rows})"))]
    if found.private:
        steps.append(Clone(f"{label}.high"))
    apart = schedule.attempt(*steps)
    if apart is None:
        return None
    low = f"{label}.low"
    return _applied(_with_joint_loops(apart, low), low, found, whole=True)


def _end_of_rows(schedule: Schedule, label: str) -> Expr | None:
    """Return the number of iterations of a nest's outer loop from 0 on, if that is a size."""
    _, domain = path_to(schedule.tree, schedule.scop, label)
    values = isl.Set.from_union_set(
        member_map(find_band(schedule.tree, label).members[0], domain).range()
    )
    if not values.dim_min(0).non_zero_set().is_empty():
        return None
    last = bound_expr(values.dim_max(0), frozenset(schedule.scop.params))
    end = normalize(add(last, integer(1)))
    return end if any(isinstance(part, Param) for part in walk(end)) else None


def _applied(
    schedule: Schedule, label: str, found: _Lanes, *, whole: bool = False
) -> Schedule | None:
    """Return `schedule` with the lanes across tiles of rows, which threads share out.

    `whole`: all tiles are full.
    """
    schedule = attempt_each(schedule, list(_storage(schedule, label, found)))
    steps: list[Transform] = []
    lanes, outer = label, f"{label}.tile[0]"
    if found.position:
        steps.append(Cut(label, found.position))
        lanes, outer = f"{label}.inner", f"{label}[0]"
    if len(find_band(schedule.tree, label).members) > found.position + 1:
        steps.append(Cut(lanes, 1))
    size = (found.rows,)
    tile, point = f"{lanes}.point.tile", f"{lanes}.point.point"
    steps.append(Tile(lanes, size))
    if whole:
        tile, point = f"{lanes}.tile", f"{lanes}.point"
    else:
        steps += [Tile(f"{lanes}.point", size), Separate(tile, point, size)]
    sunk = schedule.attempt(*steps, transforms.Sink(f"{point}[0]"))
    if sunk is None:
        return None
    before = {band.label for band in bands(schedule.tree)}
    made = [b.label for b in bands(sunk.tree) if b.label not in before and ".lanes" in b.label]
    scope = f"{tile}[0]" if found.is_free else f"{lanes}.tile[0]"
    copies = (
        transforms.Pack(array, scope, _last(schedule.scop.array(array), dimension))
        for array, dimension in found.copied.items()
    )
    laned = sunk.attempt(*(Vectorize(f"{one}[0]") for one in made), *copies)
    return None if laned is None else laned.attempt(Parallelize(outer)) or laned


def _storage(schedule: Schedule, label: str, found: _Lanes) -> Iterator[Transform]:
    """Yield steps that store temporaries with a cell for each lane, lanes next to each other."""
    homes = contraction_nests(schedule.scop, schedule.tree)
    for name, dimension in found.private.items():
        loops = homes[name][homes[name].index(f"{label}[{found.position}]") :]
        sizes = cells(schedule, name, loops) or ()
        if 1 in sizes:
            yield transforms.Contract(name, sizes)
        if sizes.count(0) != 1:
            yield transforms.LayOut(name, _last(schedule.scop.array(name), dimension))


def _last(array: Array, dimension: int) -> tuple[transforms.Dimension, ...]:
    """Return the dimensions of an array with one of them last."""
    others = (d for d in range(len(array.shape)) if d != dimension)
    return tuple(transforms.Dimension(d) for d in (*others, dimension))
