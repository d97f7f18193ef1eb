"""Map nests to grids of blocks and points to threads.

In: a schedule.  Out: every outermost band with parallel loops tiled, one block for each tile; the
loops around stay on the host, those inside stay in the thread.
"""

from __future__ import annotations

from math import prod

from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Tree, bands, find_band, fresh_label
from polyopt.strategy.gpu.coalescing import coalesced_loop_last
from polyopt.strategy.gpu.mapped_loops import MAPPED, is_mapped
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.sizes import block_sizes
from polyopt.strategy.gpu.staging import stage_reused, stage_strided
from polyopt.strategy.gpu.thread_coarsening import iterations_per_thread, loads_per_thread
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Cut, Grid, Skew, Threads, Tile

MOST = 3
"""Dimensions of a grid."""
NEST = 20_000_000  # isl operations for a nest, besides those for its copies
BUDGET, PART = 5_000_000, 0.25  # isl operations for the copies of a nest, and part of the time


def map_nests(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with all nests mapped that have parallel loops.

    A nest whose mapping takes too long is left as it is.
    """
    return _each(schedule, schedule.tree, device)


def _each(schedule: Schedule, tree: Tree, device: GpuModel) -> Schedule:
    for label in outer_bands(tree):
        with optional("a nest on a grid", NEST):
            schedule = _map(schedule, label, device)
    return schedule


def _map(schedule: Schedule, label: str, device: GpuModel) -> Schedule:
    """Return `schedule` with the band mapped, or the bands inside it."""
    band = find_band(schedule.tree, label)
    if any(member.kind in MAPPED for member in band.members):
        return schedule
    if is_mapped(band):  # others in the same loop may be left
        return _each(schedule, band.child, device)
    found = _outermost(schedule, band, device) or _inside(schedule, band, device)
    if found is None and not any(_free(inner) for inner in bands(band.child)):
        found = _wavefront(schedule, band, device)
    return _each(schedule, band.child, device) if found is None else found


def _free(band: Band) -> list[int]:
    return [position for position, member in enumerate(band.members) if member.coincident]


def _outermost(schedule: Schedule, band: Band, device: GpuModel) -> Schedule | None:
    """Return `schedule` with parallel loops of the band moved outermost and mapped."""
    free = _free(band)
    if not free:
        return None
    chosen = coalesced_loop_last(schedule, band.label, free)[-MOST:]
    rest = [p for p in range(len(band.members)) if p not in chosen]
    moves = order_steps(band.label, band, (*chosen, *rest))
    moved = schedule.attempt(*moves) if moves else schedule
    return None if moved is None else _tiled(moved, band.label, len(chosen), device)


def _inside(schedule: Schedule, band: Band, device: GpuModel) -> Schedule | None:
    """Return `schedule` with adjacent parallel loops mapped, those before them on the host."""
    free = _free(band)
    if not free:
        return None
    first = free[0]
    count = 1
    while count < MOST and first + count in free:
        count += 1
    if first == 0:
        return _tiled(schedule, band.label, count, device)
    inner = fresh_label(schedule.tree, f"{band.label}.inner")
    cut = schedule.attempt(Cut(band.label, first))
    if cut is None:
        return None
    order = coalesced_loop_last(cut, inner, list(range(count)))
    rest = range(count, len(band.members) - first)
    moves = order_steps(inner, find_band(cut.tree, inner), (*order, *rest))
    moved = (cut.attempt(*moves) if moves else None) or cut
    return _tiled(moved, inner, count, device)


def _tiled(schedule: Schedule, label: str, count: int, device: GpuModel) -> Schedule | None:
    """Return `schedule` with the first loops of a band tiled: blocks of threads."""
    for loops in range(count, 0, -1):
        tile = fresh_label(schedule.tree, f"{label}.tile")
        point = fresh_label(schedule.tree, f"{label}.point")
        sizes = block_sizes(schedule, label, loops, device)
        own = iterations_per_thread(schedule, label, loops)
        steps: list[Transform] = [Threads(tuple(f"{point}[{p}]" for p in range(loops)))]
        if max(own) > 1:
            sizes = tuple(size * each for size, each in zip(sizes, own, strict=True))
            steps = [Tile(point, own), Threads((fresh_label(schedule.tree, f"{point}.tile"),))]
        tiled = schedule.attempt(Tile(label, sizes), *steps)
        if tiled is not None:
            staged = tiled
            if device.shared and max(own) == 1:
                staged = stage_strided(tiled, tile, point, loops)
            if staged is tiled and device.shared and _is_flat(schedule, label, loops):
                loads = loads_per_thread(schedule, label, own)
                threads = prod(sizes) // prod(own)
                loop = f"{tile}[{loops - 1}]"
                with optional("a tile and its surroundings in shared memory", BUDGET, PART):
                    staged = stage_reused(tiled, loop, loads, threads, device.shared)
            found = staged.attempt(Grid(tuple(f"{tile}[{p}]" for p in range(loops))))
            if found is not None:
                return found
    return None


def _is_flat(schedule: Schedule, label: str, count: int) -> bool:
    """Tell whether a band has exactly this many loops, and none inside."""
    band = find_band(schedule.tree, label)
    return count > 1 and len(band.members) == count and not any(bands(band.child))


def _wavefront(schedule: Schedule, band: Band, device: GpuModel) -> Schedule | None:
    """Return `schedule` with the band's first loop skewed so that the others are parallel."""
    if not band.permutable or len(band.members) < 2:
        return None
    others = range(1, len(band.members))
    steps: list[Transform] = [
        Skew(f"{band.label}[0]", f"{band.label}[{position}]", 1) for position in others
    ]
    skewed = schedule.attempt(*steps)
    return None if skewed is None else _inside(skewed, find_band(skewed.tree, band.label), device)
