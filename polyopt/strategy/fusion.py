"""Fuse nests that share data where no parallel loop is lost.

In: a schedule with one nest per group of statements.  Out: adjacent nests with common outer loops;
also nests further apart, if one uses the other's results and those between can move.
The greedy order is Kennedy and McKinley's, "Maximizing loop parallelism and improving data locality
via loop fusion and distribution", 1993.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, takewhile

import islpy as isl

from polyopt import strategy
from polyopt.ir.expr import Call, is_function, walk
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Statement
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Filter,
    Leaf,
    Sequence,
    Tree,
    bands,
    children,
    find_band,
    statements_of,
)
from polyopt.strategy.extents import count_similar_loops, share_iterations
from polyopt.strategy.short_loop_unrolling import unroll_short, with_short_inside
from polyopt.strategy.vector import only_checks
from polyopt.transforms import Fuse, Move

LONG = 64  # iterations of inner loops beside which a function outside of lanes does not count


def fuse_nests(schedule: Schedule, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with nests fused as deep as keeps their outer loop parallel.

    Adjacent nests come first, then nests that others separate from their producers.  Bands named in
    `skip` are left alone.
    """
    refused = FailedPairs()
    while True:
        schedule = fuse_neighbours(schedule, skip, refused)
        brought = _fuse_with_producer(schedule, skip)
        if brought is None:
            return schedule
        schedule = brought


class FailedPairs:
    """Pairs of adjacent nests that cannot be fused, valid until one of them changes."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], tuple[Band, Band]] = {}  # kept: ids are not used again

    def add(self, one: Band, two: Band) -> None:
        """Record a pair."""
        self._pairs[id(one), id(two)] = one, two

    def has(self, one: Band, two: Band) -> bool:
        """Tell whether the pair was recorded and both nests are unchanged."""
        return (id(one), id(two)) in self._pairs


def fuse_neighbours(
    schedule: Schedule, skip: frozenset[str], refused: FailedPairs | None = None
) -> Schedule:
    """Return `schedule` with adjacent nests fused as deep as keeps their outer loop parallel.

    Bands named in `skip`, and pairs that are `refused`, are left alone.
    """
    refused = refused or FailedPairs()
    progress = True
    while progress:
        progress = False
        for first, second in adjacent(schedule.tree):
            nests = find_band(schedule.tree, first), find_band(schedule.tree, second)
            if first in skip or second in skip or refused.has(*nests):
                continue
            fused = None
            if share_data(schedule, first, second):
                fused = fuse(schedule, first, second) or _fuse_around(schedule, first, second)
            if fused is not None:
                schedule, progress = fused, True
                break
            refused.add(*nests)
    return schedule


def _fuse_with_producer(schedule: Schedule, skip: frozenset[str]) -> Schedule | None:
    """Return `schedule` with one nest moved next to its producer and fused."""
    for labels in sequences(schedule.tree):
        for first, second in combinations(filter(None, labels), 2):
            if first in skip or second in skip:
                continue
            pairs = ((first, second), (second, first))
            is_check = any(_is_check_of(schedule, *pair) for pair in pairs)
            if not is_check and not _feeds(schedule, first, second):
                continue
            for moves in filter(None, moves_together(labels, first, second)):
                fused = fuse(schedule, first, second, moves)
                if fused is not None:
                    return fused
    return None


def sequences(tree: Tree, *, in_order: bool = False) -> list[list[str | None]]:
    """Return the labels of the parts of each sequence, "" for statements outside of loops.

    `in_order`: only of sequences that are not in loops with independent iterations.
    """
    if in_order and isinstance(tree, Band) and any(m.coincident for m in tree.members):
        return []
    found: list[list[str | None]] = []
    if isinstance(tree, Sequence):
        parts = (part.child for part in tree.parts)
        found = [[part.label if isinstance(part, Band) else None for part in parts]]
    inner = (sequences(child, in_order=in_order) for child in children(tree))
    return found + [labels for more in inner for labels in more]


def moves_together(
    labels: list[str | None], first: str, second: str
) -> Iterator[tuple[Transform, ...]]:
    """Yield moves that make two nests of a sequence neighbours.

    The later one runs earlier, or the earlier one later.
    """
    early, late = labels.index(first), labels.index(second)
    between = labels[early + 1 : late]
    if not between:
        yield ()
        return
    if between[0] is not None:
        yield (Move(second, between[0]),)
    yield (Move(first, second),)


def _feeds(schedule: Schedule, first: str, second: str) -> bool:
    """Tell whether the first nest writes elements of an array that the second reads."""
    both = written_in(schedule, first) & read_in(schedule, second)
    return any(schedule.scop.array(name).shape for name in both)


def _is_check_of(schedule: Schedule, check: str, user: str) -> bool:
    """Tell whether a nest only checks subscripts that another reads: beside their use it costs
    little, and lets that be plain.
    """
    if not only_checks(schedule, check):
        return False
    read = read_in(schedule, check)
    return bool(read) and read <= read_in(schedule, user) | written_in(schedule, user)


def adjacent(tree: Tree) -> list[tuple[str, str]]:
    """Return the labels of adjacent bands in sequences, outermost first."""
    match tree:
        case Leaf():
            return []
        case Band() | Filter():
            return adjacent(tree.child)
        case Sequence():
            own = [
                (one.child.label, two.child.label)
                for one, two in zip(tree.parts, tree.parts[1:], strict=False)
                if isinstance(one.child, Band) and isinstance(two.child, Band)
            ]
            return own + [pair for part in tree.parts for pair in adjacent(part)]


def fuse(
    schedule: Schedule, first: str, second: str, moves: tuple[Transform, ...] = ()
) -> Schedule | None:
    """Return `schedule` with two nests fused after `moves`, or None where that does not pay."""
    one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
    common = min(len(one.members), len(two.members))
    pairs = ((first, second), (second, first))
    free = tuple(_is_check_of(schedule, *pair) for pair in pairs)
    if moves or any(free) or not _is_inside(schedule.tree, first):
        near = count_similar_loops(schedule.scop.domain, one, two)
        common = near if moves or any(free) or not near else common
    places = islice(zip(one.members, two.members, strict=False), common)
    common = sum(1 for _ in takewhile(lambda p: share_iterations(schedule.scop.domain, *p), places))
    for count in range(common, 0, -1):
        if any(has_parallel_inner_loops(nest, count) for nest in (one, two)):
            continue
        if loses_lanes(schedule, one, two, count):
            continue
        fused = schedule.attempt(*moves, Fuse(first, second, count))
        if fused is None:
            continue
        if _keeps_parallel_loops(find_band(fused.tree, first), one, two, count, free):
            return fused
    inner = common == 1 and _is_inside(schedule.tree, first)
    return strategy.element_sums.join_sum(schedule, first, second, moves) if inner else None


def _keeps_parallel_loops(
    joint: Band, one: Band, two: Band, count: int, free: tuple[bool, ...]
) -> bool:
    """Tell whether `count` fused loops are independent where they were so in one of two nests.

    Nests that are `free` only check subscripts: they go where the values are read.
    Where steps of one nest depend on those before, whole nests may go by steps if the columns of
    a step stay independent: threads then share the columns.
    """
    parts = list(zip(joint.members, one.members, two.members, strict=False))[:count]
    own = [n for n, is_free in enumerate(free) if not is_free]
    lost = [
        (pair[0], pair[1])
        for joined, *pair in parts
        if any(pair[n].coincident for n in own) and not joined.coincident
    ]
    if not lost:
        return True
    is_whole = len(one.members) == len(two.members) == count and all(
        next(iter(bands(nest.child)), None) is None for nest in (one, two)
    )
    return is_whole and joint.members[-1].coincident and not any(a.coincident for a, _ in lost)


def _fuse_around(schedule: Schedule, first: str, second: str) -> Schedule | None:
    """Return `schedule` with two nests fused after one's short loops moved innermost.

    The fused loop is vectorized around unrolled copies: the maximum of a window is initialized,
    computed and used in one iteration.
    """
    for label in (first, second):
        interchanged = with_short_inside(schedule, label)
        fused = None if interchanged is None else fuse(interchanged, first, second)
        if fused is not None and unroll_short(fused, first) is not None:
            return fused
    return None


def _is_inside(tree: Tree, label: str) -> bool:
    """Tell whether a band is inside of loops."""
    return any(band.label == label for outer in bands(tree) for band in bands(outer.child))


def has_parallel_inner_loops(nest: Band, count: int) -> bool:
    """Tell whether loops inside the first `count` are parallel: fusion makes them sequential."""
    inner = nest.members[count:], *(band.members for band in bands(nest.child))
    return any(member.kind is LoopKind.PARALLEL for members in inner for member in members)


def loses_lanes(schedule: Schedule, one: Band, two: Band, count: int) -> bool:
    """Tell whether fusing `count` loops takes functions such as exp out of SIMD lanes.

    A nest without a loop left inside the fused ones calls them one by one, between the other's
    inner loops; where these are long, one function more is negligible.
    """
    for nest, other in ((one, two), (two, one)):
        alone = _has_no_inner_loops(nest, count) and not _has_no_inner_loops(other, count)
        if alone and _calls(schedule, nest.label) and _is_short(schedule, other, count):
            return True
    return False


def _is_short(schedule: Schedule, nest: Band, count: int) -> bool:
    """Tell whether the loops inside the first `count` of `nest` have few iterations for all sizes.

    Loops whose extents depend on sizes count as long.
    """
    names = statements_of(schedule.scop, nest.members[0].schedule.domain())
    for statement in map(schedule.scop.statement, names):
        for position in range(count, len(statement.iters)):
            most = statement.domain.dim_max_val(position)
            least = statement.domain.dim_min_val(position)
            if not (most.is_int() and least.is_int()) or most.sub(least).ge(isl.Val(LONG)):
                return False
    return True


def _has_no_inner_loops(nest: Band, count: int) -> bool:
    return len(nest.members) == count and next(iter(bands(nest.child)), None) is None


def _calls(schedule: Schedule, label: str) -> bool:
    """Tell whether statements of a nest call functions or take roots, which lanes speed up."""
    values = (statement.value for statement in statements_in(schedule, label))
    parts = (part for value in values for part in walk(value))
    return any(isinstance(part, Call) or is_function(part) for part in parts)


def share_data(schedule: Schedule, first: str, second: str) -> bool:
    """Tell whether two nests access a common array, so that fusing them improves locality."""
    one, two = (written_in(schedule, n) | read_in(schedule, n) for n in (first, second))
    return any(schedule.scop.array(name).shape for name in one & two)


def written_in(schedule: Schedule, label: str) -> set[str]:
    """Return the arrays that the statements of a nest write."""
    return {statement.target.array for statement in statements_in(schedule, label)}


def read_in(schedule: Schedule, label: str) -> set[str]:
    """Return the arrays that the statements of a nest read."""
    return {read.array for one in statements_in(schedule, label) for read in one.reads}


def statements_in(schedule: Schedule, label: str) -> list[Statement]:
    domain = find_band(schedule.tree, label).members[0].schedule.domain()
    return [schedule.scop.statement(name) for name in statements_of(schedule.scop, domain)]
