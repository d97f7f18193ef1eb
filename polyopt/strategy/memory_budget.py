"""Choose what is recomputed instead of stored, so that temporaries fit in a number of bytes.

In: sources, a function that schedules them, one that tells the peak of schedules, a limit.  Out:
schedules within the limit.  The largest temporary of a schedule that is too large is recomputed by
the nests that read it, if that is legal, and the program is scheduled again; the last resort is to
recompute all of them (Chen et al., "Training deep nets with sublinear memory cost", 2016, trade
computation for memory likewise).
Refuses: a limit that nothing tried meets (PO0708); the least peak found is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from polyopt.errors import PolyoptError, ScheduleError
from polyopt.ir.scop import Scop
from polyopt.ir.target import Target
from polyopt.schedule.schedule import Schedule
from polyopt.strategy.recomputation import fused, recomputed

Schedules: TypeAlias = tuple[Schedule, ...]
Peak: TypeAlias = tuple[int, tuple[str, ...]]
"""Bytes that temporaries take at once, and their names, the largest first."""
ROUNDS = 12
"""Temporaries that are recomputed one after the other before all are."""


def within_memory(
    sources: Schedules,
    scheduled: Callable[[Schedules], Schedules],
    peak: Callable[[Schedules], Peak],
    limit: int,
) -> Schedules:
    """Return schedules whose peak is at most `limit` bytes; raises `ScheduleError` PO0708."""
    refusals: list[tuple[int, ScheduleError]] = []
    for found in _alternatives(sources, scheduled, peak):
        own = peak(found)
        if own[0] <= limit:
            return found
        scops = [one.scop for one in found]
        refusals.append((own[0], too_large(limit, own, scops, "the least that was found")))
    raise min(refusals, key=lambda pair: pair[0])[1]


def too_large(
    limit: int, peak: Peak, scops: Iterable[Scop], what: str = "what the proven loops take"
) -> ScheduleError:
    """Return the refusal of a limit, at the statement that makes the largest temporary."""
    least, arrays = peak
    makers = {s.target.array: s for scop in scops for s in reversed(scop.statements)}
    largest = next((name for name in arrays if name in makers), None)
    return ScheduleError(
        "PO0708",
        f"temporaries do not fit in {limit} bytes: {what} is {least}",
        loc=None if largest is None else makers[largest].loc,
        notes=() if largest is None else (f"the largest temporary is {largest}",),
        hint=f"use memory={least} or more, smaller arrays, or results written into arguments",
    )


def _alternatives(
    sources: Schedules,
    scheduled: Callable[[Schedules], Schedules],
    peak: Callable[[Schedules], Peak],
) -> Iterator[Schedules]:
    """Yield schedules that need less and less memory, as far as can be told."""
    starts, tried = sources, set[str]()
    for _ in range(ROUNDS):
        found = scheduled(starts)
        yield found
        following = _with_one_recomputed(starts, peak(found)[1], tried)
        if following is None:
            break
        starts = following
    yield starts
    try:
        yield tuple(fused(Target.C, source) for source in sources)
    except PolyoptError:
        return


def _with_one_recomputed(
    starts: Schedules, names: Sequence[str], tried: set[str]
) -> Schedules | None:
    """Return the sources with the first of some temporaries recomputed for which that is legal."""
    for name in names:
        if name in tried:
            continue
        tried.add(name)
        found = tuple(recomputed(start, name) or start for start in starts)
        if any(one is not start for one, start in zip(found, starts, strict=True)):
            return found
    return None
