"""The automatic schedule for devices.

In: a Scop and a device.  Out: a proven schedule: nests on grids of blocks, points on threads.
Loops that carry dependences stay around kernels, or inside threads.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.ir.budget import optional
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.strategy.auto import keeps_scalars_small
from polyopt.strategy.gpu.contraction import map_contractions
from polyopt.strategy.gpu.fusion import fuse_whole
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.nests import map_nests
from polyopt.strategy.gpu.pipelines import pipeline_copies
from polyopt.strategy.gpu.recurrences import map_recurrences
from polyopt.strategy.gpu.rows import map_rows
from polyopt.strategy.gpu.score import is_best, score
from polyopt.strategy.gpu.sums import map_sums
from polyopt.strategy.gpu.time_tiles import map_time
from polyopt.strategy.gpu.updates import map_updates
from polyopt.transforms import Affine, Fusion

BUDGET = 20_000_000  # isl operations for one stage of decisions: a few seconds
MOST = 0.4  # of the time that is left, for one stage of decisions


def auto_schedule_gpu(scop: Scop, device: GpuModel) -> Schedule:
    """Return a legal schedule of `scop` mapped to `device`.

    A stage of decisions that takes more than `BUDGET` isl operations, or most of the time that is
    left, is left out.
    """
    source = source_schedule(scop)
    scalars = frozenset(array.name for array in scop.arrays if not array.shape)
    with optional("the automatic mapping"):
        return _best(source, device, scalars)
    return source


def _best(source: Schedule, device: GpuModel, scalars: frozenset[str]) -> Schedule:
    """Return the source's order or that of isl's scheduler, mapped: what has more on grids.

    Tiles of products and sums take time: they are made for the better one alone.
    """
    timed = _timed(source, device)
    if timed is not source and (not scalars or keeps_scalars_small(timed, scalars)):
        return timed
    affine = Affine(Fusion.MIN)
    start = _within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    found = _candidate(start, device, scalars)
    if found is not None and is_best(found, score(found)):
        return _mapped(start, device)
    plain = _candidate(source, device, scalars)
    if found is None or (plain is not None and score(plain) > score(found)):
        start = source
    if found is not None and not any(score(found)):
        start = source  # nothing is won
    mapped = _mapped(start, device)
    return mapped if keeps_scalars_small(mapped, scalars) else found or plain or source


def _timed(source: Schedule, device: GpuModel) -> Schedule:
    """Return `source` with tiles of several time steps, all else mapped; as it is without any."""
    if not device.shared:
        return source
    timed = _within_budget("time steps", source, lambda s: map_time(s, device), None)
    return source if timed is source else _nests(timed, device)


def _candidate(start: Schedule, device: GpuModel, scalars: frozenset[str]) -> Schedule | None:
    """Return `start` with its nests mapped, or None where scalars would become large arrays."""
    found = _nests(start, device)
    return found if keeps_scalars_small(found, scalars) else None


def _mapped(start: Schedule, device: GpuModel) -> Schedule:
    """Return `start` with products and sums in tiles, and all other nests mapped.

    Without shared memory no array is moved.
    """
    if not device.shared:
        return _nests(start, device)
    tiles = "tiles of products"  # each has operations of its own
    summed = _within_budget(tiles, start, lambda s: map_contractions(s, device), None)
    rows = _within_budget("rows", summed, lambda s: map_rows(s, device), None)
    dealt = _within_budget("sums", rows, lambda s: map_sums(s, device), None)
    updated = _within_budget("updates", dealt, lambda s: map_updates(s, device), None)
    followed = _within_budget("recurrences", updated, lambda s: map_recurrences(s, device), None)
    mapped = _nests(followed, device)
    return _within_budget("pipelines", mapped, lambda s: pipeline_copies(s, device))


def _nests(start: Schedule, device: GpuModel) -> Schedule:
    """Return `start` with its nests fused where that is free, and mapped."""
    fused = _within_budget("fused nests", start, fuse_whole)
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
