"""Tile loops over time steps of stencils where that saves memory traffic.

In: a schedule in the source's order.  Out: loops over time steps in overlapped tiles, on grids of
blocks; the schedule as it is where no loop gains.
The cost counts bytes for each element and time step: of memory, of shared memory, which is faster,
and of launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import value_of
from polyopt.schedule.tree import Band, LoopRef, bands, find_band, fresh_label
from polyopt.strategy.gpu.coalescing import coalesced_loop_last
from polyopt.strategy.gpu.mapped_loops import is_mapped
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.thread_coarsening import OWN, iterations_per_thread
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Grid, Overlap, Threads, Tile
from polyopt.transforms.halo import NoHalo
from polyopt.transforms.overlapped_tiling import NAMES, OverlapPlan
from polyopt.transforms.region import enter

BUDGET = 20_000_000  # isl operations for one loop
GAIN = 0.75
"""What is left of the bytes where tiles of several time steps are made."""
FASTER = 7
"""How much more shared memory moves in the same time."""
LAUNCH = 4
"""Bytes for each element that could be moved while a kernel is launched: of some million."""
STATEMENTS = 8
"""Statements in a time step; of more it takes long to prove what they read."""
MANY = 1024
"""Elements of a tile that has a thread for every few of them."""
ELEMENTS = 4096
"""Elements of an array that a block keeps."""
SIZES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((256, 512, 1024, 2048),),
    2: ((8, 16, 32), (32, 64)),
    3: ((4, 8), (4, 8), (32,)),
}
STEPS = {1: (1, 2, 4, 8, 16, 32), 2: (1, 2, 3, 4, 6, 8), 3: (1, 2, 3, 4)}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes for each element and time step; `memory` of them are in global memory."""

    memory: float
    total: float


def map_time(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with its loops over time steps tiled, and those mapped."""
    for label in outer_bands(schedule.tree):
        band = find_band(schedule.tree, label)
        if not is_mapped(band) and not band.members[0].coincident:
            with optional("tiles of time steps", BUDGET):
                step = choose(schedule, label, device)
                found = None if step is None else with_step(schedule, label, step)
                schedule = found or schedule
    return schedule


def choose(schedule: Schedule, label: str, device: GpuModel) -> Overlap | None:
    """Return the step that saves most for the first loop of a band; None where none does."""
    names = [statement.name for statement in schedule.scop.statements]
    region = enter(schedule.scop, schedule.tree, LoopRef(label, 0), names)
    ranks = {len(region.scop.statement(name).target.index) for name in region.values}
    rank = next(iter(ranks)) if len(ranks) == 1 else 0
    many = len(region.values) > STATEMENTS
    if many or rank not in SIZES or not _is_nest(schedule, label):
        return None
    try:
        plan = OverlapPlan.of(region, 1, tuple(one[0] for one in SIZES[rank]))
        plan.check_steady()
        margins = [margin for array in plan.written for margin in plan.margins(array)]
    except NoHalo:
        return None
    if not any(map(any, margins)):
        return None  # no element needs its neighbours
    found = [(traffic(one).total, n, one) for n, one in enumerate(_plans(plan, rank, device))]
    if not found:
        return None
    best, _, chosen = min(found)
    if best > GAIN * untiled(plan).total:
        return None
    return Overlap(f"{label}[0]", chosen.steps, chosen.sizes)


def _is_nest(schedule: Schedule, label: str) -> bool:
    """Tell whether parallel loops are inside the first loop of a band."""
    band = find_band(schedule.tree, label)
    inside = [m for inner in bands(band.child) for m in inner.members]
    return any(m.coincident for m in (*band.members[1:], *inside))


def _plans(plan: OverlapPlan, rank: int, device: GpuModel) -> Iterator[OverlapPlan]:
    """Yield the plans whose tiles fit in shared memory."""
    for steps in STEPS[rank]:
        for sizes in product(*SIZES[rank]):
            one = replace(plan, steps=steps, sizes=sizes)
            boxes = {array: _box(one, array) for array in one.written}
            needed = sum(n * one.region.scop.array(a).dtype.size for a, n in boxes.items())
            if max(boxes.values()) <= ELEMENTS and needed <= device.shared:
                yield one


def _box(plan: OverlapPlan, array: str) -> int:
    margins = plan.margins(array)
    return prod(s + below + above for s, (below, above) in zip(plan.sizes, margins, strict=True))


def traffic(plan: OverlapPlan) -> Traffic:
    """Return the bytes for each element and time step of a plan."""
    tile = prod(plan.sizes)
    memory = shared = 0.0
    for array in plan.carried:
        memory += _size(plan, array) * (_box(plan, array) / tile + 1)
    for statement in plan.statements:
        size = _size(plan, statement.target.array)
        for left in range(plan.steps):
            sides = zip(plan.sizes, plan.halos[statement.name], strict=True)
            points = prod(s + r.below.at(left) + r.above.at(left) for s, r in sides)
            own = sum(read.array in plan.written for read in statement.reads) + 1
            shared += own * size * points / tile
            others = {read.array for read in statement.reads} - set(plan.written)
            memory += sum(_size(plan, array) for array in others)
    total = memory + shared / FASTER + LAUNCH
    return Traffic(memory / plan.steps, total / plan.steps)


def untiled(plan: OverlapPlan) -> Traffic:
    """Return the bytes for each element where every statement is a kernel of its own."""
    memory = 0.0
    for statement in plan.statements:
        touched = {read.array for read in statement.reads}
        memory += _size(plan, statement.target.array)
        memory += sum(_size(plan, array) for array in touched)
    return Traffic(memory, memory + LAUNCH * len(plan.statements))


def _size(plan: OverlapPlan, array: str) -> int:
    return plan.region.scop.array(array).dtype.size


def with_step(schedule: Schedule, label: str, step: Overlap) -> Schedule | None:
    """Return `schedule` with the first loop of a band tiled on a grid; None if that is illegal."""
    tiled = schedule.attempt(step)
    if tiled is None:
        return None
    own = OWN if prod(map(value_of, step.sizes)) <= MANY else 2 * OWN
    for turn in NAMES:
        found = _mapped(tiled, f"{label}.{turn}", own)
        if found is None:
            return None
        tiled = found
    return tiled


def _mapped(schedule: Schedule, label: str, own: int) -> Schedule | None:
    """Return `schedule` with a nest of tiles on the grid, all loops inside on threads.

    Where a thread reuses elements, it runs `own` iterations.
    """
    tiles = find_band(schedule.tree, label)
    steps = f"{label}.steps"
    inside = [find_band(schedule.tree, inner) for inner in outer_bands(tiles.child)]
    for band in [*inside, *_nests(find_band(schedule.tree, steps))]:
        if band.label == steps:
            continue
        threaded = _threaded(schedule, band, own)
        if threaded is None:
            return None
        schedule = threaded
    blocks = tuple(f"{label}[{p}]" for p in range(len(tiles.members)))
    return schedule.attempt(Grid(blocks))


def _nests(steps: Band) -> list[Band]:
    return [find_band(steps, label) for label in outer_bands(steps.child)]


def _threaded(schedule: Schedule, band: Band, own: int) -> Schedule | None:
    """Return `schedule` with the parallel loops of a band on threads, or None."""
    free = [p for p, member in enumerate(band.members) if member.coincident]
    if not free:
        return None
    order = (*coalesced_loop_last(schedule, band.label, free), *_rest(band, free))
    moves: list[Transform] = order_steps(band.label, band, order)
    loops = tuple(f"{band.label}[{p}]" for p in range(len(free)))
    moved = schedule.attempt(*moves) if moves else schedule
    each = (1,) if moved is None else iterations_per_thread(moved, band.label, len(free), own)
    if moved is None or max(each) == 1:
        return schedule.attempt(*moves, Threads(loops))
    tile = fresh_label(moved.tree, f"{band.label}.tile")
    return moved.attempt(Tile(band.label, each), Threads((tile,)))


def _rest(band: Band, free: list[int]) -> list[int]:
    return [p for p in range(len(band.members)) if p not in free]
