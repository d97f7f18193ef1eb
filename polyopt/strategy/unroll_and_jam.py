"""Unroll and jam ordered sums along rows, in a pass with the producers and users of the rows.

In: a schedule before and after fusion.  Out: passes over a few rows at a time, with the producers
of the rows and the users of the sums: the sums of these rows overlap, with an accumulator each,
while the rows are in the cache.
Refuses: passes with temporaries as long as a row, of which each row would need its own.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.ir.scop import Role, Statement
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, bands, find_band
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import fuse_neighbours, share_data, statements_in
from polyopt.strategy.strides import Stride, accesses, change_of, directions, loop_moves
from polyopt.strategy.sums import ROWS, is_row_sum
from polyopt.strategy.sums import sums as alone
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Cut, Distribute, Interchange, Parallelize, Separate, Tile, Unroll


def row_sums(schedule: Schedule, skip: Collection[str]) -> frozenset[str]:
    """Return nests that are ordered sums along rows, over which other nests run, too.

    Bands named in `skip` are neither.
    """
    labels = [label for label in outer_bands(schedule.tree) if label not in skip]
    found = {
        label
        for label in labels
        if is_row_sum(schedule, label)
        and find_roles(schedule, label) is None
        and not _has_temporary_rows(schedule, label)
    }
    return frozenset(
        label
        for label in found
        if any(_shares_rows(schedule, other, label) for other in labels if other not in found)
    )


def passes_with_sums(schedule: Schedule, sums: frozenset[str]) -> list[str]:
    """Return the nests of a fused `schedule` that contain sums and other parts."""
    return [
        label
        for label in outer_bands(schedule.tree)
        if label not in sums
        and any(band.label in sums for band in bands(find_band(schedule.tree, label)))
    ]


def jam_row_sums(schedule: Schedule, sums: frozenset[str], machine: Machine) -> Schedule | None:
    """Return a fused `schedule` with the rows of `sums` jammed, None where that is refused."""
    for label in passes_with_sums(schedule, sums):
        found = _jammed_pass(schedule, label)
        if found is None:
            return None
        schedule = found
    for label in [label for label in outer_bands(schedule.tree) if label in sums]:
        schedule = alone(schedule, label, machine) or schedule
    return schedule


def _jammed_pass(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the rows of one pass tiled and jammed."""
    band = find_band(schedule.tree, label)
    if isinstance(band.child, Leaf) or not all(member.coincident for member in band.members):
        return None
    if _keeps_rows(schedule, label, len(band.members)):
        return None
    steps: list[Transform] = []
    rows = label
    if len(band.members) > 1:
        steps.append(Cut(label, len(band.members) - 1))
        rows = f"{label}.inner"
    tile, point = f"{rows}.tile", f"{rows}.point"
    steps += [Tile(rows, (ROWS,)), Separate(tile, point, (ROWS,)), Distribute(point, 1)]
    schedule = schedule.attempt(*steps) or schedule
    labels = [b.label for b in bands(schedule.tree) if b.label.startswith(f"{point}.")]
    parts = [part for part in labels if part.removeprefix(f"{point}.").isdigit()]
    sums = [part for part in parts if is_row_sum(schedule, part)]
    for part in sums:
        interchanged = schedule.attempt(
            Interchange(f"{part}[0]", f"{part}[1]"), Unroll(f"{part}[1]")
        )
        if interchanged is None:
            return None
        schedule = interchanged
    others = {b.label for b in bands(schedule.tree)} - {p for p in parts if p not in sums}
    if not sums:
        return None
    schedule = fuse_neighbours(schedule, frozenset(others))
    if rows == label:  # where rows are few, the rest is all there is
        schedule = schedule.attempt(Parallelize(f"{point}.rest[0]")) or schedule
    return schedule


def _keeps_rows(schedule: Schedule, label: str, rows: int) -> bool:
    """Tell whether an iteration of the pass has temporaries of more than one cell."""
    last = f"{label}[{rows - 1}]"
    homes = contraction_nests(schedule.scop, schedule.tree)
    return any(
        last in loops and len(schedule.scop.array(name).shape) > rows
        for name, loops in homes.items()
    )


def _has_temporary_rows(schedule: Schedule, label: str) -> bool:
    """Tell whether a sum reads rows of temporaries."""
    (total,) = statements_in(schedule, label)
    along = loop_moves(schedule, label, total)[-1]
    return any(
        along.get(access.ref) is Stride.CONTIGUOUS
        and schedule.scop.array(access.array).role is Role.TEMP
        for access in total.reads
    )


def _shares_rows(schedule: Schedule, nest: str, label: str) -> bool:
    """Tell whether `nest` runs in parallel over the rows of the sum at `label`."""
    one, two = find_band(schedule.tree, nest), find_band(schedule.tree, label)
    if not one.members[0].coincident or not share_data(schedule, nest, label):
        return False
    (total,) = statements_in(schedule, label)
    walked = _dimensions_of_first_loop(schedule, two, total)
    common = [
        {dims.get(array) for dims in (walked, _dimensions_of_first_loop(schedule, one, statement))}
        for statement in statements_in(schedule, nest)
        for array in walked
        if array in _dimensions_of_first_loop(schedule, one, statement)
    ]
    is_same = all(len(dims) == 1 and None not in dims for dims in common)
    return bool(common) and is_same and count_similar_loops(schedule.scop.domain, one, two) > 0


def _dimensions_of_first_loop(
    schedule: Schedule, band: Band, statement: Statement
) -> dict[str, int | None]:
    """Return the dimension of each matrix that the first loop moves, None where not just one."""
    direction = directions(band.members, schedule.scop, statement)[0]
    found: dict[str, int | None] = {}
    for access in accesses(statement):
        if len(access.index) > 1:
            change = change_of(access, statement, direction) or ()
            moved = [dim for dim, step in enumerate(change) if step]
            dim = moved[0] if len(moved) == 1 else None
            found[access.array] = dim if found.get(access.array, dim) == dim else None
    return found
