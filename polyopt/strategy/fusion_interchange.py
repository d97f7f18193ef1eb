"""Interchange the loops of a nest to fuse it with the nest that computes its operands.

In: a schedule after fusion.  Out: later nests with an inner loop moved outermost and fused with
the nest that computes what they read.
The mean of each channel of a batch of images runs over all images for a channel; subtracting the
mean image by image would load all of them from memory again.  Innermost loops stay in place, since
they are contiguous.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, find_band
from polyopt.strategy.extents import are_similar, growing_rank
from polyopt.strategy.fusion import moves_together, read_in, sequences, statements_in, written_in
from polyopt.strategy.interchanges import order_steps
from polyopt.transforms import Fuse


def fuse_interchanged(schedule: Schedule, skip: Collection[str]) -> Schedule:
    """Return `schedule` with nests fused after an interchange of one's loops.

    Bands named in `skip` are left alone.
    """
    while True:
        fused = _fused(schedule, skip)
        if fused is None:
            return schedule
        schedule = fused


def _fused(schedule: Schedule, skip: Collection[str]) -> Schedule | None:
    for labels in sequences(schedule.tree, in_order=True):
        for first, second in combinations(filter(None, labels), 2):
            if first in skip or second in skip or not _rereads(schedule, first, second):
                continue
            one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
            for place in _places(schedule, one, two):
                order = (place, *(p for p in range(len(two.members)) if p != place))
                steps = order_steps(second, two, order)
                for moves in moves_together(labels, first, second):
                    fused = schedule.attempt(*moves, *steps, Fuse(first, second, 1))
                    if fused and find_band(fused.tree, first).members[0].coincident:
                        return fused
    return None


def _places(schedule: Schedule, one: Band, two: Band) -> list[int]:
    """Return the loops of `two` with the range of `one`'s first, except outermost and innermost."""
    if not one.members[0].coincident or not two.members[0].coincident:
        return []
    return [
        place
        for place in range(1, len(two.members) - 1)
        if two.members[place].coincident
        and are_similar(schedule.scop.domain, one.members[0], two.members[place])
    ]


def _rereads(schedule: Schedule, first: str, second: str) -> bool:
    """Tell whether the second nest reads results of the first, and an array that it also read."""
    if not written_in(schedule, first) & read_in(schedule, second):
        return False
    again = read_in(schedule, second)
    return any(
        read.array in again
        and 2 <= growing_rank(schedule.scop.array(read.array)) <= len(statement.iters)
        for statement in statements_in(schedule, first)
        for read in statement.reads
    )
