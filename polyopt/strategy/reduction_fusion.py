"""Sums over rows, as of columns, made in the pass over these rows that runs in parallel anyway.

In: a schedule whose nests are fused, and nests that add every row to the same results in an open
order.  Out: one pass over the rows; each thread has partial results of its own (Suriana, Adams,
Kamil, "Parallel associative reductions in Halide", 2017).
Leaves: sums whose order counts, and those that the pass waits for.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt import transforms
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Leaf, Sequence, bands, find_band, only_statement
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.extents import alike
from polyopt.strategy.fusion import fuse_neighbours, is_shared_out, share_data, statements_in
from polyopt.strategy.strides import Step, loop_moves
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Fuse, Move, Parallelize


def fusible_reductions(schedule: Schedule, skip: Collection[str]) -> frozenset[str]:
    """Return the nests of sums for which a pass over the same rows may be found.

    Bands named in `skip` are neither; products are tiled instead, for they read rows many times.
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
    """Return `schedule` with sums of `waiting` in passes over their rows, where such are found."""
    for nest in outer_bands(schedule.tree):
        if nest in waiting or nest in skip or not waiting & set(outer_bands(schedule.tree)):
            continue
        schedule = _joined(schedule, nest, waiting, machine) or schedule
    return schedule


def _joined(
    schedule: Schedule, nest: str, waiting: frozenset[str], machine: Machine
) -> Schedule | None:
    """Return `schedule` with all sums in the pass `nest` that may be, None where there are none."""
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
    """Return `schedule` with a hand of rows for each core, and partial results for each hand."""
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
    """Tell whether nest `nest`, which runs in parallel, has the rows of the sum at `label`.

    What waits for the sum does not.
    """
    one, two = find_band(schedule.tree, nest), find_band(schedule.tree, label)
    if len(one.members) < rows or not one.members[0].coincident or is_shared_out(one, rows):
        return False
    if not share_data(schedule, nest, label):
        return False
    (total,) = statements_in(schedule, label)
    later = _later(schedule, total.name)
    if later & {statement.name for statement in statements_in(schedule, nest)}:
        return False
    return alike(schedule.scop.domain, one, two) >= rows


def _later(schedule: Schedule, name: str) -> set[str]:
    """Return the statements that depend on results of `name`, in one step or in several."""
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
    """Return how many loops around a nest's others add to the same results, 0 where it is no sum.

    The loops inside run along the results.
    """
    name = _reduction(schedule, label)
    if name is None:
        return 0
    statement = schedule.scop.statement(name)
    moves = [move[statement.write.ref] for move in loop_moves(schedule, label, statement)]
    rows = next((p for p, move in enumerate(moves) if move is not Step.INVARIANT), len(moves))
    is_along = Step.CONTIGUOUS in moves[rows:] and Step.INVARIANT not in moves[rows:]
    return rows if is_along else 0


def _reduction(schedule: Schedule, label: str) -> str | None:
    """Return the statement of a nest that is a sum in an open order and nothing else."""
    band = find_band(schedule.tree, label)
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None or not isinstance(band.child, Leaf):
        return None
    is_open = statement.reduction is not None and statement.reduction.reassociable
    return statement.name if is_open else None
