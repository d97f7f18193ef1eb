"""Fuse sweeps over the rows of one matrix: products with A and with its transpose.

In: nests over the same rows, one of which reduces, reassociably, into results shared by all rows;
between them nests that update each row's own result.
Out: one nest over a few rows at a time, so that each row is loaded once; threads have partial
results.
Refuses: sums whose order is fixed, nests that need all rows of one before the other's first row.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.machine import Machine
from polyopt.model.contraction import swept_rows
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Leaf, find_band, only_statement
from polyopt.strategy.function_vectorization import calling, group_size, sums_and_functions
from polyopt.strategy.fusion import sequences, statements_in
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import (
    Fuse,
    Interchange,
    Move,
    Parallelize,
    Separate,
    Tile,
    Unroll,
    Vectorize,
)


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A nest of two loops over matrices that are stored row by row.

    `rows` is the position of the loop over rows; `shared` names the statement whose results all
    rows share, if there is one.
    """

    label: str
    rows: int
    matrices: frozenset[str]
    shared: str | None


def fuse_row_sweeps(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with nests fused that sweep over the rows of one matrix.

    They are in one sequence, at the top or in a sequential loop, as over time.
    """
    for labels in sequences(schedule.tree, in_order=True):
        nests = filter(None, labels)
        found = [sweep for label in nests if (sweep := _sweep(schedule, label))]
        used: set[str] = set()
        for one, two in _pairs(found):
            if used & {one.label, two.label}:
                continue
            joined = _fused(schedule, one, two, machine)
            if joined is not None:
                schedule = joined
                used |= {one.label, two.label}
    return schedule


def _pairs(sweeps: list[_Sweep]) -> Iterator[tuple[_Sweep, _Sweep]]:
    """Yield pairs of sweeps over a common matrix of which one reduces over rows."""
    for position, one in enumerate(sweeps):
        for two in sweeps[position + 1 :]:
            if one.matrices & two.matrices and (one.shared or two.shared):
                yield one, two


def _sweep(schedule: Schedule, label: str) -> _Sweep | None:
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) != 2 or not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None:
        return None
    reduction = statement.reduction
    if reduction is None and not all(member.coincident for member in band.members):
        return None
    if reduction is not None and not reduction.reassociable:
        return None
    if not statement.target.index:
        return None  # a sum of the whole goes with all passes over its terms
    moves = loop_moves(schedule, label, statement)
    arrays = {a.ref: a.array for a in (statement.write, *statement.reads) if len(a.index) == 2}
    for rows in (0, 1):
        across, along = moves[rows], moves[1 - rows]
        matrices = {
            array
            for ref, array in arrays.items()
            if across.get(ref) is Stride.STRIDED and along.get(ref) is Stride.CONTIGUOUS
        }
        if matrices and Stride.STRIDED not in along.values():
            is_shared = reduction is not None and across[statement.write.ref] is Stride.INVARIANT
            return _Sweep(label, rows, frozenset(matrices), statement.name if is_shared else None)
    return None


def _fused(schedule: Schedule, one: _Sweep, two: _Sweep, machine: Machine) -> Schedule | None:
    """Return `schedule` with the two nests fused, a block of rows for each thread."""
    interchanged: list[Transform] = [
        Interchange(f"{sweep.label}[0]", f"{sweep.label}[1]")
        for sweep in (one, two)
        if sweep.rows != 0
    ]
    first, second = one.label, two.label
    schedule = schedule.attempt(*interchanged) or schedule
    shared = [sweep.shared for sweep in (one, two) if sweep.shared is not None]
    met = _moved_together(schedule, first, second)
    if met is None:
        return None
    schedule, between = met
    if not between:
        joint = schedule.attempt(Fuse(first, second, 2))
        if joint is not None:
            jammed = joint.attempt(*_groups(first, swept_rows(machine)))
            return (
                None
                if jammed is None
                else _distributed_cyclically(jammed, f"{first}.tile[0]", shared, machine)
            )
    if not all(_is_of_rows(schedule, label) for label in between):
        return None
    joint = schedule.attempt(*(Fuse(first, label, 1) for label in (*between, second)))
    if joint is None:
        return None
    names = [each.name for label in between for each in statements_in(schedule, label)]
    functions = calling(schedule, names)
    rows = swept_rows(machine)
    if functions:
        rows = group_size(schedule, functions, machine.vector_bytes)
    parts = [True, *(False for _ in between), True]
    jammed = joint.attempt(*sums_and_functions(first, rows, parts))
    if jammed is None:
        return _distributed_cyclically(joint, f"{first}[0]", shared, machine)
    return _distributed_cyclically(jammed, f"{first}.tile[0]", shared, machine)


def _is_of_rows(schedule: Schedule, label: str) -> bool:
    """Tell whether a nest is one loop around one statement."""
    band = find_band(schedule.tree, label)
    return len(band.members) == 1 and isinstance(band.child, Leaf)


def _groups(label: str, rows: int) -> list[Transform]:
    """Return the steps that tile rows and unroll and jam the tiles."""
    tile, point = f"{label}.tile", f"{label}.point"
    return [
        Tile(label, (rows,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Vectorize(f"{point}[0]"),
        Unroll(f"{point}[1]"),
        Separate(tile, point, (rows,)),
        Interchange(f"{point}.rest[0]", f"{point}.rest[1]"),
    ]


def _distributed_cyclically(
    schedule: Schedule, rows: str, shared: list[str], machine: Machine
) -> Schedule | None:
    """Return `schedule` with rows distributed cyclically over the cores, with partial results."""
    if machine.cores == 1:
        return schedule
    parts = (transforms.Rfactor(name, rows) for name in shared)
    return schedule.attempt(transforms.Deal(rows, machine.cores), *parts, Parallelize(rows))


def _moved_together(
    schedule: Schedule, first: str, second: str
) -> tuple[Schedule, list[str]] | None:
    """Return `schedule` with the second nest directly behind the first, or the nests left between.

    None where a statement outside of loops is between them.
    """
    for label in _between(schedule, first, second):  # what can go ahead of both does
        if label is not None:
            schedule = schedule.attempt(Move(label, first)) or schedule
    between = _between(schedule, first, second)
    if not between:
        return schedule, []
    closer = schedule.attempt(Move(second, between[0])) if between[0] is not None else None
    closer = closer or schedule.attempt(Move(first, second))
    if closer is not None:
        return closer, []
    nests = [label for label in between if label is not None]
    return (schedule, nests) if len(nests) == len(between) else None


def _between(schedule: Schedule, first: str, second: str) -> list[str | None]:
    """Return the parts between two parts of a sequence, in order."""
    found = sequences(schedule.tree, in_order=True)
    labels = next(labels for labels in found if first in labels)
    return labels[labels.index(first) + 1 : labels.index(second)]
