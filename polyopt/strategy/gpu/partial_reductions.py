"""Combine partial results of reductions on a device: in warps, then in a block.

In: a join, the loop over partial results of neighbouring threads.  Out: the join split by warps,
its parts combined by the threads of a warp.  Raises `StepRefused` where a step is illegal.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule, Transform
from polyopt.strategy.gpu.mapped_loops import bands_around
from polyopt.transforms import Combine, Rfactor, Strip, Threads


class StepRefused(Exception):
    """A step is illegal, or does not fit the tree."""


def apply_steps(schedule: Schedule, *steps: Transform) -> Schedule:
    """Return the schedule after `steps`; raises `StepRefused`."""
    found = schedule.attempt(*steps)
    if found is None:
        raise StepRefused
    return found


def last_join(schedule: Schedule) -> str:
    """Return the join of the reduction that was split last."""
    return schedule.scop.statements[-1].name


def split_by_warps(schedule: Schedule, join: str, warp: int) -> tuple[Schedule, tuple[str, ...]]:
    """Return `schedule` with a join of more results than a warp has split; the two joins."""
    band = bands_around(schedule, join)[-1].label
    split = apply_steps(schedule, Strip(f"{band}[0]", warp), Rfactor(join, f"{band}[0]"))
    return split, (join, last_join(split))


def combine_in_warps(schedule: Schedule, joins: tuple[str, ...], within: str | None) -> Schedule:
    """Return `schedule` with joins by neighbouring threads; their loops are in band `within`."""
    for join in joins:
        around = bands_around(schedule, join)
        first = 1 + [band.label for band in around].index(within) if within is not None else 0
        loops = [f"{band.label}[{p}]" for band in around[first:] for p in range(len(band.members))]
        across = [Threads((loop,)) for loop in loops[:-1]]
        schedule = apply_steps(schedule, *across, Combine(loops[-1]))
    return schedule
