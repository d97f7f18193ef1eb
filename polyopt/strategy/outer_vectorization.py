"""SIMD lanes across independent recurrences.

In: a schedule.  Out: nests whose inner loops all carry dependences, with an independent contiguous
loop from further out run in strips, innermost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyopt import transforms
from polyopt.ir.loops import LoopKind
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, bands, find_band
from polyopt.strategy.short_loop_unrolling import adds_up, unroll_short
from polyopt.strategy.tiling import outer_bands
from polyopt.strategy.vector import is_innermost, vector_gain
from polyopt.transforms import Cut, Interchange, Tile, Vectorize

STRIP = 256  # iterations of the sunk loop that run together: their values stay in L1


def vectorize_outer_loops(schedule: Schedule, skip: Collection[str] = ()) -> Schedule:
    """Return `schedule` with lanes in nests that have none to offer where they are.

    Bands named in `skip` are left alone, with all that is in them.
    """
    for label in outer_bands(schedule.tree):
        schedule = _with_lanes(schedule, label, skip)
    return schedule


def _with_lanes(schedule: Schedule, label: str, skip: Collection[str]) -> Schedule:
    """Return `schedule` with lanes in the band, or in those inside of it one by one."""
    if label in skip:
        return schedule
    band = find_band(schedule.tree, label)
    if is_innermost(band):
        return (unroll_short(schedule, label) if adds_up(schedule, label) else None) or schedule
    if not _has_lanes(schedule, band):
        found = _unrolled(schedule, label)
        if found is not None:
            return found
        for position, member in enumerate(band.members):
            if member.coincident and (band.permutable or position == 0):
                found = _sunk(schedule, label, position)
                if found is not None:
                    return found
    for inner in outer_bands(band.child):
        schedule = _with_lanes(schedule, inner, skip)
    return schedule


def _unrolled(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with lanes around short loops, in the band or one that fills its body."""
    found = unroll_short(schedule, label)
    child = find_band(schedule.tree, label).child
    return _unrolled(schedule, child.label) if found is None and isinstance(child, Band) else found


def _has_lanes(schedule: Schedule, band: Band) -> bool:
    """Tell whether some loop below runs in lanes, or some innermost one may."""
    if any(m.kind is LoopKind.VECTOR for inner in bands(band) for m in inner.members):
        return True
    return any(
        member.coincident and vector_gain(schedule, inner.label, position) > 0
        for inner in bands(band)
        if is_innermost(inner)
        for position, member in enumerate(inner.members)
    )


def _sunk(schedule: Schedule, label: str, position: int) -> Schedule | None:
    """Return `schedule` with the loop sunk and in lanes, or None where that does not help.

    Strips go inside the other independent loops, which are left to the threads; where there are
    none, outside: all that is done to a strip then follows at once.
    """
    band = find_band(schedule.tree, label)
    last = len(band.members) - 1
    if band.permutable and any(m.coincident for p, m in enumerate(band.members) if p != position):
        moves = [Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(position, last)]
        inside = f"{label}.inner"
        found = _in_strips(schedule, [*moves, Cut(label, last)], inside)
        if found is not None:
            return found
    moves = [Interchange(f"{label}[0]", f"{label}[{position}]")] if position else []
    return _in_strips(schedule, moves, label)


def _in_strips(schedule: Schedule, moves: Sequence[Transform], label: str) -> Schedule | None:
    """Return `schedule` after `moves`, with the first loop of the band in strips that are lanes."""
    before = {band.label for band in bands(schedule.tree)}
    sunk = schedule.attempt(*moves, Tile(label, (STRIP,)), transforms.Sink(f"{label}.point[0]"))
    if sunk is None:
        return None
    made = [b.label for b in bands(sunk.tree) if b.label not in before and ".lanes" in b.label]
    if not made or any(vector_gain(sunk, lanes, 0) <= 0 for lanes in made):
        return None
    return sunk.attempt(*(Vectorize(f"{lanes}[0]") for lanes in made))
