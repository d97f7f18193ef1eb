"""Vectorize outer loops around recurrences.

In: a schedule.  Out: nests whose inner loops all carry dependences, with an outer independent
contiguous loop strip-mined and vectorized innermost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyopt import transforms
from polyopt.ir.loops import LoopKind
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, bands, find_band
from polyopt.strategy.fusion import statements_in
from polyopt.strategy.short_loop_unrolling import is_reducing, unroll_short
from polyopt.strategy.tiling import outer_bands
from polyopt.strategy.vector import is_innermost, vector_gain
from polyopt.transforms import Cut, Interchange, Tile, Vectorize

STRIP = 256  # iterations of the sunk loop that run together: their values stay in L1


def vectorize_outer_loops(schedule: Schedule, skip: Collection[str] = ()) -> Schedule:
    """Return `schedule` with outer loops vectorized in nests that have no vectorizable inner loop.

    Bands named in `skip`, and all bands inside them, are left alone.
    """
    for label in outer_bands(schedule.tree):
        schedule = _with_lanes(schedule, label, skip)
    return schedule


def _with_lanes(schedule: Schedule, label: str, skip: Collection[str]) -> Schedule:
    """Return `schedule` with an outer loop of the band, or of each band inside, vectorized."""
    if label in skip:
        return schedule
    band = find_band(schedule.tree, label)
    if is_innermost(band):
        return (unroll_short(schedule, label) if is_reducing(schedule, label) else None) or schedule
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
    """Return `schedule` with a loop vectorized around short loops in the band or its only child."""
    found = unroll_short(schedule, label)
    child = find_band(schedule.tree, label).child
    return _unrolled(schedule, child.label) if found is None and isinstance(child, Band) else found


def _has_lanes(schedule: Schedule, band: Band) -> bool:
    """Tell whether a loop below is vectorized, or an innermost one can be."""
    if any(m.kind is LoopKind.VECTOR for inner in bands(band) for m in inner.members):
        return True
    return any(
        member.coincident and vector_gain(schedule, inner.label, position) > 0
        for inner in bands(band)
        if is_innermost(inner)
        for position, member in enumerate(inner.members)
    )


def _sunk(schedule: Schedule, label: str, position: int) -> Schedule | None:
    """Return `schedule` with the loop sunk and vectorized, or None where that does not help.

    Strips go inside the other independent loops, which run in parallel; if there are none, outside,
    so that all parts of the body process a strip while it is in the cache.
    """
    band = find_band(schedule.tree, label)
    last = len(band.members) - 1
    are_rows = not any(_only_sums(schedule, inner) for inner in bands(band))
    if band.permutable and any(m.coincident for p, m in enumerate(band.members) if p != position):
        moves = [Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(position, last)]
        inside = f"{label}.inner"
        found = _in_strips(schedule, [*moves, Cut(label, last)], inside, are_rows=are_rows)
        if found is not None:
            return found
    moves = [Interchange(f"{label}[0]", f"{label}[{position}]")] if position else []
    return _in_strips(schedule, moves, label, are_rows=are_rows)


def _in_strips(
    schedule: Schedule, moves: Sequence[Transform], label: str, *, are_rows: bool
) -> Schedule | None:
    """Return `schedule` after `moves`, with the band's first loop in vectorized strips.

    `are_rows`: temporaries of one iteration of the loops around it count as rows along it.
    """
    before = {band.label for band in bands(schedule.tree)}
    sunk = schedule.attempt(*moves, Tile(label, (STRIP,)), transforms.Sink(f"{label}.point[0]"))
    if sunk is None:
        return None
    made = [b.label for b in bands(sunk.tree) if b.label not in before and ".lanes" in b.label]
    if not made:
        return None
    held = contraction_nests(sunk.scop, sunk.tree) if are_rows else {}
    if any(vector_gain(sunk, lanes, 0, held) <= 0 for lanes in made):
        return None
    return sunk.attempt(*(Vectorize(f"{lanes}[0]") for lanes in made))


def _only_sums(schedule: Schedule, band: Band) -> bool:
    """Tell whether lanes of an innermost loop itself can sum up what it carries.

    That is: sums whose order is open, and which are not read before the loop ends.
    """
    if not is_innermost(band):
        return False
    inside = statements_in(schedule, band.label)
    carried = [statement for statement in inside if statement.reduction is not None]
    return bool(carried) and all(
        one.is_reassociable
        and not any(one.target.array in s.arrays for s in inside if s is not one)
        for one in carried
    )
