"""Bring the loops of every outer band into the order memory likes.

In: a schedule.  Out: the schedule with the loop that walks arrays contiguously innermost.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy.vector import vector_gain
from polyopt.transforms import Interchange


def contiguous_innermost(schedule: Schedule) -> Schedule:
    """Return `schedule` with each permutable band's loops sorted, worst for SIMD outermost."""
    for label in [band.label for band in bands(schedule.tree)]:
        band = find_band(schedule.tree, label)
        if len(band.members) > 1 and band.permutable:
            steps = contiguous_last(schedule, label)
            schedule = (schedule.attempt(*steps) if steps else None) or schedule
    return schedule


def contiguous_last(schedule: Schedule, label: str) -> list[Transform]:
    """Return the interchanges that move the loop best for SIMD lanes innermost in its band."""
    band = find_band(schedule.tree, label)
    gains = [vector_gain(schedule, label, p) for p in range(len(band.members))]
    best = max(range(len(gains)), key=lambda p: (gains[p], p))
    if gains[best] <= 0:
        return []
    last = len(band.members) - 1
    return [Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(best, last)]
