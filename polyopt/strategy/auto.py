"""The automatic schedule for CPUs.

In: a Scop and a machine.  Out: a proven schedule: fused, tiled, parallel outside, SIMD inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.schedule.tree import Band, Tree, bands, children
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
    scalars = {array.name for array in scop.arrays if not array.shape}
    try:
        with quota(BUDGET):
            start = source.attempt(Affine(Fusion.MIN)) or source
            for found in _candidates(start, source, machine):
                if keeps_scalars_small(found, scalars):
                    return found
    except BudgetError:
        pass
    return source


def _candidates(start: Schedule, source: Schedule, machine: Machine) -> Iterator[Schedule]:
    """Yield schedules to choose from, best first; each is made only when it is asked for."""
    yield _improve(start, machine)
    yield _improve(source, machine)
    yield parallelize_outer(source)


def keeps_scalars_small(schedule: Schedule, scalars: set[str]) -> bool:
    """Tell whether no scalar of the source has become an array of three or more dimensions.

    A scalar with a cell per iteration is a scalar again where one iteration makes and uses it;
    a schedule that keeps makers and users in separate nests needs all the cells.
    """
    homes = contraction_loops(schedule.scop, schedule.tree)
    for array in schedule.scop.arrays:
        if array.name in scalars and len(array.shape) > MAX_EXPANSION:
            home = homes.get(array.name)
            if home is None or loops_through(schedule.tree, home) < len(array.shape):
                return False
    return True


def loops_through(tree: Tree, home: str) -> int:
    """Return how many loops are open inside loop `home` (`L0[1]`), itself included."""
    label, _, position = home.partition("[")
    for path, band in bands_with_depth(tree, 0):
        if band.label == label:
            return path + int(position.rstrip("]")) + 1
    raise AssertionError(f"no band {label}")


def bands_with_depth(tree: Tree, above: int) -> Iterator[tuple[int, Band]]:
    """Yield every band with the number of loops above it."""
    if isinstance(tree, Band):
        yield above, tree
        above += len(tree.members)
    for child in children(tree):
        yield from bands_with_depth(child, above)


MAX_EXPANSION = 2  # dimensions; as much memory as a matrix


def _improve(start: Schedule, machine: Machine) -> Schedule:
    """Return `start` fused, tiled, parallel outside and in SIMD lanes inside."""
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
