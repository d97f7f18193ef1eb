"""Compose the automatic schedule for devices.

In: a Scop and a device.  Out: a proven schedule: nests on grids of blocks, points on threads.
Loops that carry dependences stay around kernels, or inside threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial

from polyopt.ir.budget import optional
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule, Transform, source_schedule
from polyopt.schedule.tree import leaves, path_to, statements_of
from polyopt.strategy.auto import with_fewer_cells
from polyopt.strategy.gpu.contraction import map_contractions
from polyopt.strategy.gpu.fusion import fuse_whole
from polyopt.strategy.gpu.mapped_loops import MAPPED
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.nests import map_nests
from polyopt.strategy.gpu.online_sums import map_online_sums
from polyopt.strategy.gpu.parallelism import (
    is_fully_parallel,
    parallel_statements,
    rate_parallelism,
)
from polyopt.strategy.gpu.pipelines import pipeline_copies
from polyopt.strategy.gpu.recurrences import map_recurrences
from polyopt.strategy.gpu.rows import map_rows
from polyopt.strategy.gpu.sums import map_sums
from polyopt.strategy.gpu.time_tiles import map_time
from polyopt.strategy.gpu.updates import map_updates
from polyopt.strategy.memory_limits import keeps_scalars_small
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Affine, Fusion

BUDGET = 20_000_000  # isl operations for one stage of decisions: a few seconds
MOST = 0.4  # of the time that is left, for one stage of decisions


def auto_schedule_gpu(
    scop: Scop,
    device: GpuModel,
    outgrowing: Callable[[Schedule], Collection[str]] = lambda _: (),
) -> Schedule:
    """Return a legal schedule of `scop` mapped to `device`.

    Schedules in which the temporaries `outgrowing` take more memory than the program's own arrays
    are passed over. Decisions that take more than `BUDGET` isl operations, or most of the time
    left, are skipped.
    """
    source = source_schedule(scop)
    scalars = frozenset(array.name for array in scop.arrays if not array.shape)
    with optional("the automatic mapping"):
        start: Schedule | None = source
        cells = Counter[str]()
        while start is not None:
            large: set[str] = set()

            def is_small(schedule: Schedule, large: set[str] = large) -> bool:
                if not keeps_scalars_small(schedule, scalars):
                    return False
                found = outgrowing(schedule)
                large.update(found)
                return not found

            found = _best(start, device, is_small)
            if found is not start or not outgrowing(found):
                return found
            start = with_fewer_cells(source, cells, large)
    return source


def _best(source: Schedule, device: GpuModel, is_small: Callable[[Schedule], bool]) -> Schedule:
    """Return the mapped schedule with the most parallelism.

    Candidates are the source's order, isl's schedule, and isl's schedule for some nests only.
    Only the best one's products and sums are tiled, since that takes time.
    """
    timed = _timed(source, device)
    if timed is not source and is_small(timed):
        return timed
    affine = Affine(Fusion.MIN)
    start = _within_budget(str(affine), source, partial(_attempted, step=affine))
    parallel = parallel_statements(source)
    found = _candidate(start, device, is_small)
    if found is not None and is_fully_parallel(found, rate_parallelism(found, parallel)):
        mapped = _mapped(start, found, device)
        return mapped if is_small(mapped) else found
    plain = _candidate(source, device, is_small)
    mixed = None if plain is None else _mixed(source, plain)
    both = None if mixed is None else _candidate(mixed, device, is_small)
    tried = [(start, found), (source, plain), (mixed or source, both)]
    ranked = [
        (begun, done, rate_parallelism(done, parallel)) for begun, done in tried if done is not None
    ]
    if not ranked:  # tiles may keep scalars small
        mapped = _mapped(source, _nests(source, device), device)
        return mapped if is_small(mapped) else source
    start, found, best = max(ranked, key=lambda one: one[2])  # the first one of equals
    if not any(best[1:]):
        start, found = source, plain or source  # nothing is won
    mapped = _mapped(start, found, device)
    return mapped if is_small(mapped) else found


def _mixed(source: Schedule, plain: Schedule) -> Schedule | None:
    """Return `source` with isl's schedule for the nests that `plain` runs in one thread.

    None where `plain` runs none or all in one thread.
    """
    nests = outer_bands(source.tree)
    left = [label for label in nests if _is_single(plain, _statements(source, label))]
    if not left or len(left) == len(nests):
        return None
    mixed = source
    for step in (Affine(Fusion.MIN, label) for label in left):
        mixed = _within_budget(str(step), mixed, partial(_attempted, step=step))
    return None if mixed is source else mixed


def _attempted(schedule: Schedule, step: Transform) -> Schedule:
    return schedule.attempt(step) or schedule


def _statements(source: Schedule, label: str) -> list[str]:
    return statements_of(source.scop, path_to(source.tree, source.scop, label)[1])


def _is_single(plain: Schedule, names: list[str]) -> bool:
    """Tell whether no loop around these statements is mapped."""
    return not any(
        member.kind in MAPPED
        for path, domain in leaves(plain.tree, plain.scop.domain)
        if not set(names).isdisjoint(statements_of(plain.scop, domain))
        for member in path
    )


def _timed(source: Schedule, device: GpuModel) -> Schedule:
    """Return `source` with overlapped time tiles, all else mapped; unchanged without such tiles."""
    if not device.shared:
        return source
    timed = _within_budget("time steps", source, lambda s: map_time(s, device), None)
    return source if timed is source else _nests(timed, device)


def _candidate(
    start: Schedule, device: GpuModel, is_small: Callable[[Schedule], bool]
) -> Schedule | None:
    """Return `start` with its nests mapped, or None where scalars would become large arrays."""
    found = _nests(start, device)
    return found if is_small(found) else None


def _mapped(start: Schedule, found: Schedule, device: GpuModel) -> Schedule:
    """Return `start` with products and sums tiled, and all other nests mapped as in `found`.

    Without shared memory no array is moved.
    """
    if not device.shared:
        return found
    online = _within_budget("online sums", start, lambda s: map_online_sums(s, device), None)
    tiles = "tiles of products"  # each has operations of its own
    summed = _within_budget(tiles, online, lambda s: map_contractions(s, device), None)
    rows = _within_budget("rows", summed, lambda s: map_rows(s, device), None)
    mapped = _within_budget("sums", rows, lambda s: map_sums(s, device), None)
    updated = _within_budget("updates", mapped, lambda s: map_updates(s, device), None)
    followed = _within_budget("recurrences", updated, lambda s: map_recurrences(s, device), None)
    mapped = found if followed is start else _nests(followed, device)
    return _within_budget("pipelines", mapped, lambda s: pipeline_copies(s, device))


def _nests(start: Schedule, device: GpuModel) -> Schedule:
    """Return `start` with nests fused where no parallelism is lost, and mapped."""
    fused = _within_budget("fused nests", start, fuse_whole)
    return _within_budget("grids and threads", fused, lambda s: map_nests(s, device))


def _within_budget(
    what: str,
    schedule: Schedule,
    stage: Callable[[Schedule], Schedule],
    operations: int | None = BUDGET,
) -> Schedule:
    """Return the result of a stage, or the schedule itself if the stage takes too long."""
    with optional(what, operations, part=MOST):
        schedule = stage(schedule)
    return schedule
