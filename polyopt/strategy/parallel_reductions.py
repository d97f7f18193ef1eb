"""Parallelize reductions over whole nests together with the nests that compute their terms.

In: a schedule after fusion; loops that reduce all of their iterations, reassociably, into the same
results.  Out: one pass for sums and the nests over the same iterations.  Partial results are per
block of a few thousand iterations (Suriana, Adams, Kamil, "Parallel associative reductions in
Halide", 2017): the same bits for any number of threads.
Leaves: sums whose order is fixed, nests that carry other dependences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polyopt import transforms
from polyopt.ir.identity import is_exact
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Tree, bands, children, find_band
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import (
    loses_lanes,
    moves_together,
    sequences,
    share_data,
    statements_in,
)
from polyopt.strategy.short_loop_unrolling import has_uniform_trip_count, trip_count
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Fuse, Interchange, Parallelize, Tile

TERMS = 4096  # iterations of a loop that have one partial result
ROWS = 4  # iterations of a loop with one more inside
AROUND = 1
"""Serial loops around a sum that is split: threads meet once for each of their iterations."""


def parallelize_reductions(schedule: Schedule, skip: Collection[str]) -> Schedule:
    """Return `schedule` with whole reductions parallel, except in bands named in `skip`."""
    for label in list(serial(schedule.tree, AROUND)):
        if label in skip or label not in {band.label for band in bands(schedule.tree)}:
            continue
        schedule = _fused(schedule, label, skip) or schedule
    return schedule


def serial(tree: Tree, most: int | None = None) -> Iterator[str]:
    """Yield the labels of bands that are neither parallel nor in parallel loops.

    `most`: of those that so many loops are around at most.
    """
    if most is not None and most < 0:
        return
    if isinstance(tree, Band):
        if any(m.coincident or m.kind is not LoopKind.SEQUENTIAL for m in tree.members):
            return
        yield tree.label
        most = None if most is None else most - len(tree.members)
    for child in children(tree):
        yield from serial(child, most)


def _split(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with partial sums and a parallel outer loop, where legal."""
    names = [s.name for s in statements_in(schedule, label) if is_whole(schedule, label, s)]
    nest = find_band(schedule.tree, label)
    places = range(len(nest.members)) if names else ()
    long = next((p for p in places if trip_count(schedule, label, p) is None), None)
    if long is None or not has_uniform_trip_count(schedule, label, 0):
        return None
    size = {1: TERMS, 2: ROWS}.get(_loops(nest) - long, 1)
    tiles, point = f"{label}.tile[0]", f"{label}.point"
    return schedule.attempt(
        *(Interchange(f"{label}[{p}]", f"{label}[{p - 1}]") for p in range(long, 0, -1)),
        Tile(label, (size,)),
        *(Interchange(f"{point}[{p}]", f"{point}[{p + 1}]") for p in range(long)),
        *(transforms.Rfactor(name, tiles) for name in names),
        Parallelize(tiles),
    )


def _loops(tree: Tree) -> int:
    """Return the depth of the deepest statement of a tree."""
    own = len(tree.members) if isinstance(tree, Band) else 0
    return own + max(map(_loops, children(tree)), default=0)


def is_whole(schedule: Schedule, label: str, statement: Statement) -> bool:
    """Tell whether a statement reduces all iterations of a nest, reassociably, into one result."""
    rule, dtype = statement.reduction, statement.target.dtype
    if rule is None or dtype is DType.BOOL:  # those have no lanes
        return False
    if not (rule.reassociable or is_exact(rule.op, dtype)):
        return False
    own = (
        band.label
        for band in bands(find_band(schedule.tree, label))
        if statement in statements_in(schedule, band.label)
    )
    write = statement.write.ref
    moves = (move for inner in own for move in loop_moves(schedule, inner, statement))
    return all(move[write] is Stride.INVARIANT for move in moves)


def _fused(schedule: Schedule, label: str, skip: Collection[str]) -> Schedule | None:
    """Return `schedule` with a nest's reductions parallel and other nests fused, or None."""
    found = _split(schedule, label)
    others = [] if found is None else _neighbours(schedule, label)
    for other in filter(None, others):
        labels = _neighbours(schedule, label)
        if other in skip or other not in labels or not _has_same_loops(schedule, label, other):
            continue
        first, second = sorted((label, other), key=labels.index)
        for moves in moves_together(labels, first, second):
            fused = schedule.attempt(*moves, Fuse(first, second))
            split = None if fused is None else _split(fused, first)
            if fused is not None and split is not None:
                schedule, label, found = fused, first, split
                break
    return found


def _neighbours(schedule: Schedule, label: str) -> list[str | None]:
    """Return the labels of the sequence that a nest is in; other parts have none."""
    return next((labels for labels in sequences(schedule.tree) if label in labels), [])


def _has_same_loops(schedule: Schedule, one: str, two: str) -> bool:
    """Tell whether another nest runs over the same iterations and accesses the same data."""
    if one == two or not share_data(schedule, one, two):
        return False
    first, second = find_band(schedule.tree, one), find_band(schedule.tree, two)
    if any(m.kind is not LoopKind.SEQUENTIAL for band in bands(second) for m in band.members):
        return False
    count = len(first.members)
    if loses_lanes(schedule, first, second, count):
        return False
    return count == len(second.members) == count_similar_loops(schedule.scop.domain, first, second)
