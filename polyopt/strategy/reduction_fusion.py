"""Fuse reductions over rows, as sums of columns, into parallel passes over the same rows.

In: a schedule after fusion; nests that reduce all rows, reassociably, into the same results.
Out: one pass over the rows, in which each thread has partial results (Suriana, Adams, Kamil,
"Parallel associative reductions in Halide", 2017).
Leaves: sums whose order is fixed, and those whose results the pass reads.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt import transforms
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Leaf, Sequence, bands, find_band, only_statement
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import (
    fuse_neighbours,
    has_parallel_inner_loops,
    share_data,
    statements_in,
)
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Fuse, Move, Parallelize


def fusible_reductions(schedule: Schedule, skip: Collection[str]) -> frozenset[str]:
    """Return the nests of reductions that a pass over the same rows may take.

    Bands named in `skip` are neither; products are tiled instead, since they reread rows.
    """
    labels = [label for label in outer_bands(schedule.tree) if label not in skip]
    sums = [label for label in labels if find_roles(schedule, label) is None]
    found = {label: rows for label in sums if (rows := _rows(schedule, label))}
    passes = [label for label in labels if label not in found]
    return frozenset(
        label
        for label, rows in found.items()
        if any(_may_join(schedule, nest, label, rows) for nest in passes)
    )


def fuse_reductions(
    schedule: Schedule, waiting: frozenset[str], skip: Collection[str], machine: Machine
) -> Schedule:
    """Return `schedule` with the reductions of `waiting` fused into passes over their rows."""
    for nest in outer_bands(schedule.tree):
        if nest in waiting or nest in skip or not waiting & set(outer_bands(schedule.tree)):
            continue
        schedule = _with_reductions(schedule, nest, waiting, machine) or schedule
    return schedule


def _with_reductions(
    schedule: Schedule, nest: str, waiting: frozenset[str], machine: Machine
) -> Schedule | None:
    """Return `schedule` with all possible reductions in the pass `nest`, or None."""
    joint, names = schedule, []
    for label in outer_bands(schedule.tree):
        if label not in waiting:
            continue
        rows, statement = _rows(joint, label), _reduction(joint, label)
        if not rows or statement is None or not _may_join(schedule, nest, label, rows):
            continue
        fused = _fused(joint, nest, label, rows)
        if fused is not None:
            joint = fused
            names.append(statement)
    if not names:
        return None
    inner = {band.label for band in bands(find_band(joint.tree, nest).child)}
    others = {band.label for band in bands(joint.tree)} - inner
    joint = fuse_neighbours(joint, frozenset(others))
    return _with_partial_results(joint, nest, names, machine)


def _with_partial_results(
    schedule: Schedule, nest: str, names: list[str], machine: Machine
) -> Schedule | None:
    """Return `schedule` with rows distributed cyclically over the cores, with partial results."""
    if machine.cores == 1:
        return schedule
    rows = f"{nest}[0]"
    partial = (transforms.Rfactor(name, rows) for name in names)
    return schedule.attempt(transforms.Deal(rows, machine.cores), *partial, Parallelize(rows))


def _fused(schedule: Schedule, nest: str, label: str, rows: int) -> Schedule | None:
    """Return `schedule` with the sum at `label` as the last part of the body of `nest`."""
    labels = _labels(schedule)
    if nest not in labels or label not in labels:
        return None
    first, second = labels.index(nest), labels.index(label)
    if second < first:
        return schedule.attempt(Move(nest, label), Fuse(nest, label, rows))
    for between in labels[first + 1 : second]:  # what can go ahead of both does
        schedule = (schedule.attempt(Move(between, nest)) if between else None) or schedule
    labels = _labels(schedule)
    after = labels[labels.index(nest) + 1]
    if not after:
        return None
    moves = [Move(label, after)] if after != label else []
    return schedule.attempt(*moves, Fuse(nest, label, rows))


def _labels(schedule: Schedule) -> list[str]:
    """Return the labels of the outermost sequence's nests, "" for other parts."""
    tree = schedule.tree
    if not isinstance(tree, Sequence):
        return []
    return [part.child.label if isinstance(part.child, Band) else "" for part in tree.parts]


def _may_join(schedule: Schedule, nest: str, label: str, rows: int) -> bool:
    """Tell whether the parallel nest `nest` runs over the rows of the reduction at `label`."""
    one, two = find_band(schedule.tree, nest), find_band(schedule.tree, label)
    if (
        len(one.members) < rows
        or not one.members[0].coincident
        or has_parallel_inner_loops(one, rows)
    ):
        return False
    if not share_data(schedule, nest, label):
        return False
    (total,) = statements_in(schedule, label)
    later = _later(schedule, total.name)
    if later & {statement.name for statement in statements_in(schedule, nest)}:
        return False
    return count_similar_loops(schedule.scop.domain, one, two) >= rows


def _later(schedule: Schedule, name: str) -> set[str]:
    """Return the statements that depend on results of `name`, directly or not."""
    follow: dict[str, set[str]] = {}
    for pairs in schedule.dependences.memory:
        if pairs.source != pairs.target:
            follow.setdefault(pairs.source, set()).add(pairs.target)
    found: set[str] = set()
    ahead = [name]
    while ahead:
        new = follow.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


def _rows(schedule: Schedule, label: str) -> int:
    """Return how many outer loops reduce into the same results, 0 for other nests."""
    name = _reduction(schedule, label)
    if name is None:
        return 0
    statement = schedule.scop.statement(name)
    moves = [move[statement.write.ref] for move in loop_moves(schedule, label, statement)]
    rows = next((p for p, move in enumerate(moves) if move is not Stride.INVARIANT), len(moves))
    is_along = Stride.CONTIGUOUS in moves[rows:] and Stride.INVARIANT not in moves[rows:]
    return rows if is_along else 0


def _reduction(schedule: Schedule, label: str) -> str | None:
    """Return the only statement of a nest if it is a reassociable reduction."""
    band = find_band(schedule.tree, label)
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None or not isinstance(band.child, Leaf):
        return None
    is_open = statement.reduction is not None and statement.reduction.reassociable
    return statement.name if is_open else None
