"""Order the loops of outer bands by how accesses move through memory.

In: a schedule.  Out: the schedule with a contiguous loop innermost, and independent loops outside
of it in the order of the array dimensions that they move along.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, bands, find_band
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import accesses, change_of, loop_directions
from polyopt.strategy.vector import only_checks, vector_gain
from polyopt.transforms import Interchange


def contiguous_innermost(schedule: Schedule) -> Schedule:
    """Return `schedule` with the loops of permutable bands sorted, best for SIMD innermost.

    Checks of subscripts keep the order of the loops that they may join.
    """
    for label in [band.label for band in bands(schedule.tree)]:
        band = find_band(schedule.tree, label)
        if len(band.members) > 1 and band.permutable and not only_checks(schedule, label):
            steps = contiguous_last(schedule, label)
            schedule = (schedule.attempt(*steps) if steps else None) or schedule
            steps = by_dimensions(schedule, label)
            schedule = (schedule.attempt(*steps) if steps else None) or schedule
    return schedule


def contiguous_last(schedule: Schedule, label: str) -> list[Transform]:
    """Return the interchanges that move the loop best for SIMD innermost in its band."""
    band = find_band(schedule.tree, label)
    gains = [vector_gain(schedule, label, p) for p in range(len(band.members))]
    best = max(range(len(gains)), key=lambda p: (gains[p], p))
    if gains[best] <= 0:
        return []
    last = len(band.members) - 1
    return [Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(best, last)]


def by_dimensions(schedule: Schedule, label: str) -> list[Transform]:
    """Return the interchanges that sort independent loops by the dimensions they move along.

    One loop goes before another if some array has their dimensions in this order and none in the
    other.  The last loop stays.
    """
    band = find_band(schedule.tree, label)
    free = [p for p, member in enumerate(band.members[:-1]) if member.coincident]
    if len(free) < 2:
        return []
    walked = _walked(schedule, band)
    if walked is None:
        return []

    def is_before(one: int, two: int) -> bool:
        pairs = [(row[one], row[two]) for row in walked]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return any(a < b for a, b in known) and all(a <= b for a, b in known)

    order = list(free)
    for last in range(len(order) - 1, 0, -1):  # bubbles: the relation orders some pairs only
        for place in range(last):
            if is_before(order[place + 1], order[place]):
                order[place], order[place + 1] = order[place + 1], order[place]
    whole = list(range(len(band.members)))
    for place, position in zip(free, order, strict=True):
        whole[place] = position
    return order_steps(label, band, tuple(whole))


def _walked(schedule: Schedule, band: Band) -> list[tuple[int | None, ...]] | None:
    """Return for each access the outermost dimension that each loop of the band moves."""
    found: list[tuple[int | None, ...]] = []
    for statement, moves in loop_directions(schedule, band.label):
        for access in accesses(statement):
            changes = [change_of(access, statement, move) for move in moves]
            if None in changes:
                return None
            found.append(
                tuple(
                    next((dim for dim, step in enumerate(change or ()) if step), None)
                    for change in changes
                )
            )
    return found
