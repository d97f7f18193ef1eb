"""Schedule large programs nest by nest, without fusion.

In: the source's schedule.  Out: the same loops in the same order, parallel and in SIMD lanes where
the loops carry no dependences.  Nests are neither fused, moved nor distributed: deciding that
takes time quadratic in the number of nests.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from polyopt.ir.loops import LoopKind
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, bands, find_band
from polyopt.strategy.tiling import outer_bands, parallel_position
from polyopt.strategy.vector import is_innermost, ranked_positions, vector_gain
from polyopt.transforms import Interchange, Parallelize, Vectorize

STATEMENTS, PAIRS = 100, 2000
"""More statements, or pairs of them that touch one array, are a large program."""


def size_in_words(schedule: Schedule) -> str | None:
    """Return in words how large a program is, None where it is not large."""
    names = [statement.name for statement in schedule.scop.statements]
    pairs = sum(1 for _ in islice(schedule.dependences.pairs(names), PAIRS + 1))
    if len(names) > STATEMENTS:
        return f"{len(names)} statements, more than {STATEMENTS}"
    if pairs > PAIRS:
        return f"more than {PAIRS} pairs of statements that touch one array"
    return None


def schedule_nests(schedule: Schedule) -> Schedule:
    """Return the schedule with parallel loops and SIMD lanes in each nest.

    The steps of all nests are checked together, and one by one only if they are refused.
    """
    steps = [_steps(schedule, label) for label in _nests(schedule)]
    steps = [one for one in steps if one]
    whole = schedule.attempt(*(step for one in steps for step in one)) if steps else schedule
    if whole is not None:
        return whole
    for one in steps:
        schedule = schedule.attempt(*one) or schedule
    return schedule


def _nests(schedule: Schedule) -> Iterator[str]:
    """Yield the outermost bands that have a loop without dependences, and innermost ones."""
    waiting = outer_bands(schedule.tree)[::-1]
    while waiting:
        band = find_band(schedule.tree, waiting.pop())
        if is_innermost(band) or any(member.coincident for member in band.members):
            yield band.label
        else:
            waiting += outer_bands(band.child)[::-1]


def _steps(schedule: Schedule, label: str) -> list[Transform]:
    """Return the steps that mark the loops of a nest."""
    band = find_band(schedule.tree, label)
    position = parallel_position(schedule, band)
    found: list[Transform] = []
    order = list(range(len(band.members)))
    if position is not None:
        is_moved = position > 0 and band.permutable
        if is_moved:
            outward = range(position, 0, -1)
            found += [Interchange(f"{label}[{p}]", f"{label}[{p - 1}]") for p in outward]
            order.insert(0, order.pop(position))
        if is_moved or position == 0 or vector_gain(schedule, label, position) <= 0:
            found.append(Parallelize(f"{label}[{0 if is_moved else position}]"))
        else:
            position = None
    for inner in filter(is_innermost, bands(band)):
        names = order if inner is band else list(range(len(inner.members)))
        taken = position if inner is band else None
        found += _lanes(schedule, inner, names, taken)
    return found


def _lanes(schedule: Schedule, band: Band, order: list[int], taken: int | None) -> list[Transform]:
    """Return the steps that vectorize the best loop of an innermost band, except `taken`.

    `order` are the positions of the loops after the steps before.
    """
    for best in ranked_positions(schedule, band.label):
        member = band.members[best]
        place, last = order.index(best), len(order) - 1
        if best == taken or not member.coincident or not (place == last or band.permutable):
            continue
        assert member.kind is LoopKind.SEQUENTIAL
        inward = range(place, last)
        label = band.label
        moves = [Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in inward]
        return [*moves, Vectorize(f"{label}[{last}]")]
    return []
