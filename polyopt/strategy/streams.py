"""Rows of a matrix that two nests need, read once: products with A and with its transpose.

In: nests over the same rows, one of which adds to results that all rows share, in an open order.
Out: one nest, a few rows at a time, whose threads have partial results of their own.
Refuses: sums whose order counts, and nests that need all rows of one before the other's first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, Sequence, find_band, only_statement
from polyopt.strategy.strides import Step, loop_moves
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import (
    Deal,
    Distribute,
    Fuse,
    Interchange,
    Move,
    Parallelize,
    Rfactor,
    Separate,
    Tile,
    Unroll,
    Vectorize,
)

ROWS = 4  # rows that pass while a piece of the shared results is in registers


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A nest of two loops over matrices that lie row by row.

    `rows` is the position of the loop over rows; `shared` names the statement when all rows add to
    the same results.
    """

    label: str
    rows: int
    matrices: frozenset[str]
    shared: str | None


def stream_rows(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with nests joined that sweep over the rows of one matrix."""
    found = [sweep for label in outer_bands(schedule.tree) if (sweep := _sweep(schedule, label))]
    used: set[str] = set()
    for one, two in _pairs(found):
        if used & {one.label, two.label}:
            continue
        joined = _joined(schedule, one, two, machine)
        if joined is not None:
            schedule = joined
            used |= {one.label, two.label}
    return schedule


def _pairs(sweeps: list[_Sweep]) -> Iterator[tuple[_Sweep, _Sweep]]:
    """Yield pairs with a common matrix of which one adds to what all rows share."""
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
    moves = loop_moves(schedule, label, statement)
    arrays = {a.ref: a.array for a in (statement.write, *statement.reads) if len(a.index) == 2}
    for rows in (0, 1):
        across, along = moves[rows], moves[1 - rows]
        matrices = {
            array
            for ref, array in arrays.items()
            if across.get(ref) is Step.STRIDED and along.get(ref) is Step.CONTIGUOUS
        }
        if matrices and Step.STRIDED not in along.values():
            is_shared = reduction is not None and across[statement.write.ref] is Step.INVARIANT
            return _Sweep(label, rows, frozenset(matrices), statement.name if is_shared else None)
    return None


def _joined(schedule: Schedule, one: _Sweep, two: _Sweep, machine: Machine) -> Schedule | None:
    """Return `schedule` with the two nests as one, parallel over hands of rows."""
    turned: list[Transform] = [
        Interchange(f"{sweep.label}[0]", f"{sweep.label}[1]")
        for sweep in (one, two)
        if sweep.rows != 0
    ]
    first, second = one.label, two.label
    schedule = schedule.attempt(*turned) or schedule
    met = _brought_together(schedule, first, second)
    if met is None:
        return None
    shared = [sweep.shared for sweep in (one, two) if sweep.shared is not None]
    joint = met.attempt(Fuse(first, second, 2))
    if joint is not None:
        jammed = joint.attempt(*_groups(first))
        return None if jammed is None else _dealt(jammed, f"{first}.tile[0]", shared, machine)
    joint = met.attempt(Fuse(first, second, 1))
    if joint is None:
        return None
    jammed = joint.attempt(*_groups_in_turn(first))
    if jammed is None:
        return _dealt(joint, f"{first}[0]", shared, machine)
    return _dealt(jammed, f"{first}.tile[0]", shared, machine)


def _groups(label: str) -> list[Transform]:
    """Return the steps that run a few rows at a time, innermost."""
    tile, point = f"{label}.tile", f"{label}.point"
    return [
        Tile(label, (ROWS,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Vectorize(f"{point}[0]"),
        Unroll(f"{point}[1]"),
        Separate(tile, point, (ROWS,)),
        Interchange(f"{point}.rest[0]", f"{point}.rest[1]"),
    ]


def _groups_in_turn(label: str) -> list[Transform]:
    """Return the steps that run a few rows at a time, all of one nest before the other's."""
    tile, point = f"{label}.tile", f"{label}.point"
    steps: list[Transform] = [
        Tile(label, (ROWS,)),
        Separate(tile, point, (ROWS,)),
        Distribute(point, 1),
    ]
    for part in (f"{point}.0", f"{point}.1"):
        steps += [Interchange(f"{part}[0]", f"{part}[1]"), Vectorize(f"{part}[0]")]
        steps.append(Unroll(f"{part}[1]"))
    return steps


def _dealt(schedule: Schedule, rows: str, shared: list[str], machine: Machine) -> Schedule | None:
    """Return `schedule` with a hand of `rows` for each core, and partial results for each hand."""
    if machine.cores == 1:
        return schedule
    parts = (Rfactor(name, rows) for name in shared)
    return schedule.attempt(Deal(rows, machine.cores), *parts, Parallelize(rows))


def _brought_together(schedule: Schedule, first: str, second: str) -> Schedule | None:
    """Return `schedule` with the second nest directly behind the first, None where none may be."""
    between = _between(schedule, first, second)
    if between is None:
        return None
    for label in between:  # what can go ahead of both does
        schedule = schedule.attempt(Move(label, first)) or schedule
    between = _between(schedule, first, second)
    if not between:
        return schedule
    return schedule.attempt(Move(second, between[0])) or schedule.attempt(Move(first, second))


def _between(schedule: Schedule, first: str, second: str) -> list[str] | None:
    """Return the nests between two parts of the outermost sequence, in order."""
    tree = schedule.tree
    if not isinstance(tree, Sequence):
        return None
    labels = [part.child.label if isinstance(part.child, Band) else "" for part in tree.parts]
    if first not in labels or second not in labels or "" in labels:
        return None
    return labels[labels.index(first) + 1 : labels.index(second)]
