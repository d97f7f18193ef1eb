"""The automatic schedule for CPUs.

In: a Scop and a machine.  Out: a proven schedule: fused, tiled, parallel outside, vectorized inside.
"""

from __future__ import annotations

from polyopt.errors import BudgetError
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.strategy.tiling import parallelize_outer
from polyopt.strategy.vector import vectorize_innermost
from polyopt.transforms import Affine, Fusion


def auto_schedule(scop: Scop, machine: Machine, fp: str) -> Schedule:
    """Return a legal schedule of `scop` chosen for `machine`; falls back to the source's order."""
    source = source_schedule(scop)
    try:
        start = source.attempt(Affine(Fusion.MIN)) or source
    except BudgetError:
        start = source
    return vectorize_innermost(parallelize_outer(start, machine))
