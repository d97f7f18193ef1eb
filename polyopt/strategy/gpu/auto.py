"""The automatic schedule for devices.

In: a Scop and a device.  Out: a proven schedule: nests on grids of blocks, points on threads.
Loops that carry dependences stay around kernels, or inside threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.ir.budget import optional
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.strategy.auto import keeps_scalars_small
from polyopt.strategy.gpu.contraction import map_contractions
from polyopt.strategy.gpu.fusion import fuse_whole
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.nests import map_nests
from polyopt.strategy.gpu.score import is_best, score
from polyopt.strategy.gpu.sums import map_sums
from polyopt.transforms import Affine, Fusion

BUDGET = 20_000_000  # isl operations for one stage of decisions: a few seconds
MOST = 0.4  # of the time that is left, for one stage of decisions


def auto_schedule_gpu(scop: Scop, device: GpuModel) -> Schedule:
    """Return a legal schedule of `scop` mapped to `device`.

    A stage of decisions that takes more than `BUDGET` isl operations, or most of the time that is
    left, is left out.
    """
    source = source_schedule(scop)
    scalars = {array.name for array in scop.arrays if not array.shape}
    best = source
    with optional("the automatic mapping"):
        for found in _candidates(source, device):
            if keeps_scalars_small(found, scalars) and score(found) > score(best):
                best = found
                if is_best(found, score(found)):
                    break
    return best


def _candidates(source: Schedule, device: GpuModel) -> Iterator[Schedule]:
    """Yield schedules to choose from, those to prefer first."""
    affine = Affine(Fusion.MIN)
    start = _within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    yield _mapped(start, device)
    if start is not source:
        yield _mapped(source, device)


def _mapped(start: Schedule, device: GpuModel) -> Schedule:
    """Return `start` with its nests fused where that is free, and mapped."""
    tiles = "tiles of products"  # each has operations of its own
    summed = _within_budget(tiles, start, lambda s: map_contractions(s, device), None)
    dealt = _within_budget("sums", summed, lambda s: map_sums(s, device), None)
    fused = _within_budget("fused nests", dealt, fuse_whole)
    return _within_budget("grids and threads", fused, lambda s: map_nests(s, device))


def _within_budget(
    what: str,
    schedule: Schedule,
    stage: Callable[[Schedule], Schedule],
    operations: int | None = BUDGET,
) -> Schedule:
    """Return what a stage makes of the schedule, or the schedule when the stage takes too long."""
    with optional(what, operations, part=MOST):
        schedule = stage(schedule)
    return schedule
