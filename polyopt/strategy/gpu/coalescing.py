"""Choose the loop that neighbouring threads run, for coalesced accesses.

In: a band.  Out: its parallel loops in mapping order, the one for neighbouring threads last.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.strategy.strides import Stride, accesses, loop_directions, stride_of

_GAIN = {Stride.CONTIGUOUS: 2, Stride.INVARIANT: 0, Stride.STRIDED: -2}


def coalesced_loop_last(schedule: Schedule, label: str, free: list[int]) -> list[int]:
    """Return the loops `free` with the one of the most coalesced accesses last."""
    gains = {position: coalescing_gain(schedule, label, position) for position in free}
    best = max(free, key=lambda p: (gains[p], p))
    return [*(p for p in free if p != best), best]


def coalescing_gain(schedule: Schedule, label: str, position: int) -> int:
    """Return a score for giving neighbouring iterations of a loop to neighbouring threads."""
    moves = access_steps(schedule, label, position).values()
    return sum(_GAIN[step] * (2 if is_write else 1) for step, is_write in moves)


def access_steps(schedule: Schedule, label: str, position: int) -> dict[str, tuple[Stride, bool]]:
    """Return how an iteration of a loop moves each access below, and whether it writes."""
    found = {}
    for statement, moves in loop_directions(schedule, label):
        for access in accesses(statement):
            step = stride_of(access, schedule.scop, statement, moves[position])
            found[access.ref] = step, access is statement.write
    return found
