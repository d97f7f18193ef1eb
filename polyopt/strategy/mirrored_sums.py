"""Compute one triangle of symmetric sums, such as `X.T @ X`, and mirror it.

In: the source's schedule.  Out: the schedule with half of the terms of each statement whose results
do not change when two subscripts are exchanged, and a nest that copies the results.
Leaves alone: statements without a loop over terms, for which a copy costs as much.
"""

from __future__ import annotations

from math import lcm

from polyopt.machine import Machine
from polyopt.model.contraction import register_tile
from polyopt.schedule.schedule import Schedule
from polyopt.transforms import Mirror


def mirror_sums(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with all such sums mirrored, in tiles made of whole register tiles."""
    tile = register_tile(machine)
    for statement in schedule.scop.statements:
        if len(statement.iters) > len(statement.target.index) > 1:
            lanes = max(1, machine.vector_bytes // statement.target.dtype.size)
            step = Mirror(statement.name, lcm(tile.rows, tile.vectors * lanes))
            schedule = schedule.attempt(step) or schedule
    return schedule
