"""Fuse what reads the rows of a recurrence into its loop, and keep one row of it.

In: a schedule with nests over rows, in which `a[i, j]` is made from `a[i - 1, j]`: running sums,
products and extrema of columns.  Out: the nests that read such temporaries row by row in the same
loop, and the temporaries contracted to the row that the next iteration needs.
Leaves: temporaries of which a later nest reads all rows, and what would lose its parallel loop.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Role
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import find_band, only_statement
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import moves_together, read_in, sequences, statements_in
from polyopt.strategy.tiling import outer_bands
from polyopt.strategy.vector import is_innermost
from polyopt.transforms import Contract, Fuse

LOOPS = 2  # over rows, in order, and over their elements, independently


def sums_of_running_rows(schedule: Schedule, skip: Collection[str]) -> frozenset[str]:
    """Return the reductions of rows that a recurrence makes, which need not be stored for them.

    Bands named in `skip` are neither.
    """
    labels = [label for label in outer_bands(schedule.tree) if label not in skip]
    made = {label: rows for label in labels if (rows := _running_rows(schedule, label))}
    return frozenset(
        label
        for label in labels
        if label not in made
        and _is_reduction(schedule, label)
        and any(_reads_row_by_row(schedule, nest, label, rows) for nest, rows in made.items())
    )


def fuse_running_rows(schedule: Schedule, skip: Collection[str]) -> Schedule:
    """Return `schedule` with readers of running rows in the loops that make these.

    Bands named in `skip` are left alone.
    """
    for nest in outer_bands(schedule.tree):
        if nest not in skip and nest in outer_bands(schedule.tree):
            schedule = _with_one_row(_with_readers(schedule, nest, skip), nest) or schedule
    return schedule


def _with_readers(schedule: Schedule, nest: str, skip: Collection[str]) -> Schedule:
    """Return `schedule` with all nests that read the rows of `nest` in order fused into it."""
    rows = _running_rows(schedule, nest)
    for label in outer_bands(schedule.tree):
        if label == nest or label in skip:
            continue
        if rows and _reads_row_by_row(schedule, nest, label, rows):
            schedule = _joined(schedule, nest, label) or schedule
            rows = _running_rows(schedule, nest)
    return schedule


def _joined(schedule: Schedule, nest: str, label: str) -> Schedule | None:
    """Return `schedule` with a reader in the loop over rows, elements still independent."""
    labels = next((part for part in sequences(schedule.tree) if nest in part), [])
    if label not in labels or labels.index(label) < labels.index(nest):
        return None
    for moves in moves_together(labels, nest, label):
        fused = schedule.attempt(*moves, Fuse(nest, label, LOOPS))
        if fused is not None and find_band(fused.tree, nest).members[1].coincident:
            return fused
    return None


def _with_one_row(schedule: Schedule, nest: str) -> Schedule | None:
    """Return `schedule` with one row of each temporary that nothing else needs, None for none."""
    found: Schedule | None = None
    for name in sorted(_running_rows(schedule, nest)):
        sizes = tuple(int(carried) for carried in _carried(found or schedule, nest, name))
        found = (found or schedule).attempt(Contract(name, sizes)) or found
    return found


def _running_rows(schedule: Schedule, label: str) -> set[str]:
    """Return the temporaries whose elements a nest over rows makes from those of the row before."""
    band = find_band(schedule.tree, label)
    members = band.members
    if len(members) != LOOPS or members[0].coincident or not members[1].coincident:
        return set()
    if any(m.kind is not LoopKind.SEQUENTIAL or m.is_tile for m in members) or not is_innermost(
        band
    ):
        return set()
    names = {statement.target.array for statement in statements_in(schedule, label)}
    temporary = {name for name in names if schedule.scop.array(name).role is Role.TEMP}
    return {name for name in temporary if any(_carried(schedule, label, name))}


def _carried(schedule: Schedule, label: str, array: str) -> tuple[bool, ...]:
    """Return for each dimension whether a statement reads elements of another place than it writes.

    All False unless this is one dimension of several.
    """
    rank = len(schedule.scop.array(array).shape)
    found = [False] * rank
    for statement in statements_in(schedule, label):
        for read in statement.reads:
            if statement.target.array == read.array == array:
                pairs = zip(read.index, statement.write.index, strict=True)
                found = [old or one != two for old, (one, two) in zip(found, pairs, strict=True)]
    return tuple(found) if rank >= LOOPS and sum(found) == 1 else (False,) * rank


def _reads_row_by_row(schedule: Schedule, nest: str, label: str, rows: Collection[str]) -> bool:
    """Tell whether the nest `label` reads some of `rows` in loops like those that make them."""
    one, two = find_band(schedule.tree, nest), find_band(schedule.tree, label)
    if not read_in(schedule, label) & set(rows) or len(two.members) < LOOPS:
        return False
    if any(m.kind is not LoopKind.SEQUENTIAL or m.is_tile for m in two.members):
        return False
    return count_similar_loops(schedule.scop.domain, one, two) >= LOOPS


def _is_reduction(schedule: Schedule, label: str) -> bool:
    statement = only_statement(schedule.tree, schedule.scop, label)
    return statement is not None and statement.reduction is not None
