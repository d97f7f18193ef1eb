"""The automatic schedule for CPUs.

In: a Scop and a machine.  Out: a proven schedule: fused, tiled, parallel outside, SIMD inside.
"""

from __future__ import annotations

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.schedule.tree import Tree, bands
from polyopt.strategy.contraction import contraction
from polyopt.strategy.fusion import fuse_neighbours
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.sums import sums
from polyopt.strategy.tiling import outer_bands, parallelize_outer
from polyopt.strategy.vector import vectorize_innermost
from polyopt.transforms import Affine, Fusion

BUDGET = 40_000_000  # isl operations for all decisions of one kernel


def auto_schedule(scop: Scop, machine: Machine, fp: str) -> Schedule:
    """Return a legal schedule of `scop` chosen for `machine`.

    Falls back to the source's order when the decisions take more than `BUDGET` isl operations.
    """
    source = source_schedule(scop)
    try:
        with quota(BUDGET):
            return _choose(source, machine)
    except BudgetError:
        return source


def _choose(source: Schedule, machine: Machine) -> Schedule:
    start = source.attempt(Affine(Fusion.MIN)) or source
    start = contiguous_innermost(start)
    contracted: set[str] = set()
    for label in outer_bands(start.tree):
        found = contraction(start, label, machine) or sums(start, label)
        if found is not None:
            contracted |= labels(found.tree) - labels(start.tree) | {label}
            start = found
    start = fuse_neighbours(start, frozenset(contracted))
    return vectorize_innermost(parallelize_outer(start))


def labels(tree: Tree) -> set[str]:
    """Return the labels of all bands."""
    return {band.label for band in bands(tree)}
