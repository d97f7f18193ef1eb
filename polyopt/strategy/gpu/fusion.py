"""Fuse adjacent nests for a device, where all their parallel loops stay parallel.

In: a schedule.  Out: adjacent nests that share data fused: one kernel in place of two.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, bands, find_band
from polyopt.strategy.fusion import adjacent, share_data
from polyopt.strategy.gpu.mapped_loops import is_mapped
from polyopt.transforms import Fuse


def fuse_whole(schedule: Schedule) -> Schedule:
    """Return `schedule` with adjacent nests fused over all of their parallel loops."""
    progress = True
    while progress:
        progress = False
        for first, second in adjacent(schedule.tree):
            fused = _fused(schedule, first, second)
            if fused is not None:
                schedule, progress = fused, True
                break
    return schedule


def _fused(schedule: Schedule, first: str, second: str) -> Schedule | None:
    one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
    if is_mapped(one) or is_mapped(two) or not share_data(schedule, first, second):
        return None
    needed = max(_depth(one), _depth(two))
    for count in range(min(len(one.members), len(two.members)), max(needed, 1) - 1, -1):
        fused = schedule.attempt(Fuse(first, second, count))
        if fused is not None and _keeps(find_band(fused.tree, first), one, two):
            return fused
    return None


def _depth(band: Band) -> int:
    """Return the number of outer loops of a band up to its last parallel one."""
    last = max((p for p, m in enumerate(band.members, start=1) if m.coincident), default=0)
    deeper = any(m.coincident for inner in bands(band.child) for m in inner.members)
    return len(band.members) if deeper else last


def _keeps(joint: Band, one: Band, two: Band) -> bool:
    parts = zip(joint.members, one.members, two.members, strict=False)
    return all(j.coincident or not (a.coincident or b.coincident) for j, a, b in parts)
