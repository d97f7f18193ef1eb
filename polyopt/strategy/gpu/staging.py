"""Stage reads through shared memory: strided ones, and those that a tile repeats.

In: a nest in tiles.  Out: the footprint of a tile copied in first, coalesced.
Refuses (returns the schedule as it is): loops inside the tile, whose footprints may be large.
"""

from __future__ import annotations

from math import prod

from polyopt.errors import ScheduleError
from polyopt.ir.expr import Const
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, path_to, resolve, statements_at, statements_of
from polyopt.strategy.gpu.coalescing import access_steps
from polyopt.strategy.gpu.mapped_loops import new_nests
from polyopt.strategy.strides import Stride, accesses
from polyopt.transforms import Pack, Threads

REUSE = 3.5
"""Reads of an element by the threads of a tile for which a copy in shared memory pays."""


def stage_strided(schedule: Schedule, tile: str, point: str, count: int) -> Schedule:
    """Return `schedule` with arrays staged that are strided along the last of `count` loops."""
    band = find_band(schedule.tree, point)
    if count < 2 or len(band.members) > count or any(True for _ in bands(band.child)):
        return schedule
    for array in _crossed(schedule, point, count):
        schedule = _copied(schedule, Pack(array, f"{tile}[{count - 1}]"))
    return schedule


def stage_reused(
    schedule: Schedule, loop: str, loads: dict[str, int], threads: int, room: int
) -> Schedule:
    """Return `schedule` with arrays staged at `loop`, halo included, that a tile reuses.

    A tile reads every element `REUSE` times or more.  `loads` is the number of elements of each
    array that a thread reads, `room` is in bytes.
    """
    inside = statements_at(schedule.tree, schedule.scop, resolve(schedule.tree, loop).label)
    written = {statement.target.array for statement in inside}
    inexact = {read.array for statement in inside for read in statement.reads if not read.exact}
    for array, number in sorted(loads.items()):
        if array in written or array in inexact:
            continue
        size = _elements(schedule, Pack(array, loop))
        needed = size * schedule.scop.array(array).dtype.size
        if not 0 < size * REUSE <= number * threads or needed > room:
            continue
        staged = _copied(schedule, Pack(array, loop))
        if staged is not schedule:
            schedule, room = staged, room - needed
    return schedule


def _elements(schedule: Schedule, pack: Pack) -> int:
    """Return how many elements a step would copy, 0 where that is not constant."""
    try:
        sides = pack.footprint(schedule.tree, schedule.scop)
    except ScheduleError:
        return 0
    extents = [side.extent.value for side in sides if isinstance(side.extent, Const)]
    return prod(int(value.real) for value in extents) if len(extents) == len(sides) else 0


def _copied(schedule: Schedule, pack: Pack) -> Schedule:
    """Return `schedule` with one copy in by all threads; unchanged where that is illegal."""
    packed = schedule.attempt(pack)
    copies = [] if packed is None else new_nests(packed, schedule)
    if packed is None or len(copies) != 1:
        return schedule
    return packed.attempt(Threads(tuple(copies))) or schedule


def _crossed(schedule: Schedule, point: str, count: int) -> list[str]:
    """Return the arrays that are only read, contiguously along a loop other than the last."""
    walks = [access_steps(schedule, point, position) for position in range(count)]
    _, domain = path_to(schedule.tree, schedule.scop, point)
    found: dict[str, bool] = {}
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        for access in accesses(statement):
            steps = [walk[access.ref][0] for walk in walks]
            crossed = steps[-1] is Stride.STRIDED and Stride.CONTIGUOUS in steps[:-1]
            is_read = access is not statement.write
            found[access.array] = found.get(access.array, True) and crossed and is_read
    return [array for array, crossed in found.items() if crossed]
