"""Stage reads through shared memory where neighbouring threads would stride through an array.

In: a nest in tiles.  Out: the array's part of a tile copied in first, by threads in the array's own
order.  Refuses (returns the schedule as it is): loops inside the tile, whose parts may be large.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, path_to, statements_of
from polyopt.strategy.gpu.mapped import new_nests
from polyopt.strategy.gpu.walks import steps_of
from polyopt.strategy.strides import Step, accesses
from polyopt.transforms import Pack, Threads


def stage_strided(schedule: Schedule, tile: str, point: str, count: int) -> Schedule:
    """Return `schedule` with what is strided along the fastest of `count` loops copied in."""
    band = find_band(schedule.tree, point)
    if count < 2 or len(band.members) > count or any(True for _ in bands(band.child)):
        return schedule
    for array in _crossed(schedule, point, count):
        packed = schedule.attempt(Pack(array, f"{tile}[{count - 1}]"))
        copies = [] if packed is None else new_nests(packed, schedule)
        if packed is not None and len(copies) == 1:
            schedule = packed.attempt(Threads(tuple(copies))) or schedule
    return schedule


def _crossed(schedule: Schedule, point: str, count: int) -> list[str]:
    """Return the arrays that are only read, contiguously along a loop that is not the fastest."""
    walks = [steps_of(schedule, point, position) for position in range(count)]
    _, domain = path_to(schedule.tree, schedule.scop, point)
    found: dict[str, bool] = {}
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        for access in accesses(statement):
            steps = [walk[access.ref][0] for walk in walks]
            crossed = steps[-1] is Step.STRIDED and Step.CONTIGUOUS in steps[:-1]
            is_read = access is not statement.write
            found[access.array] = found.get(access.array, True) and crossed and is_read
    return [array for array, crossed in found.items() if crossed]
