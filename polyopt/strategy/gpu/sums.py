"""Sums on a device: partial results by neighbouring threads, combined in an order that is fixed.

In: a nest that reduces an array, in any order by the source's leave.  Out: the sum's terms dealt
out to threads, and to blocks where there are few results; partial results are joined by the block,
or by a kernel of their own.  Every run adds in the same order, whatever the device.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Leaf, bands, find_band, fresh_label, path_to, statements_of
from polyopt.strategy.contraction import order_steps
from polyopt.strategy.gpu.mapped import bands_around, is_mapped
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.sizes import constant_extent
from polyopt.strategy.gpu.walks import steps_of
from polyopt.strategy.strides import Step
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import (
    Deal,
    Dimension,
    Distribute,
    Fuse,
    Grid,
    Interchange,
    LayOut,
    Reorder,
    Rfactor,
    Threads,
    Tile,
)

BUDGET = 5_000_000  # isl operations for one sum
BLOCKS = 512
"""Blocks that share one sum: some for each processor of a large device."""
SHARES = 32
"""Blocks, or rows of threads, that share each of several sums."""
GROUPS = 16
"""Groups of blocks whose partial results are joined before those of all are."""
GRID = 3
"""Dimensions of a grid."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The loops of a band, by position: over results, and over the terms of each.

    `lane` is the loop over terms that neighbouring threads should run; `by_result` says that they
    should rather have neighbouring results.
    """

    statement: str
    results: tuple[int, ...]
    terms: tuple[int, ...]
    lane: int
    by_result: bool


def map_sums(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with its sums over long loops dealt out to threads and blocks."""
    for label in [band.label for band in bands(schedule.tree)]:
        if not is_mapped(find_band(schedule.tree, label)):
            with optional("a sum", BUDGET):
                found = find_sums(schedule, label)
                schedule = (found and _mapped(schedule, label, found, device)) or schedule
    return schedule


def find_sums(schedule: Schedule, label: str) -> Sums | None:
    """Return the sums that a band computes with no parallel loop around it, or None."""
    band = find_band(schedule.tree, label)
    path, domain = path_to(schedule.tree, schedule.scop, label)
    if not isinstance(band.child, Leaf) or any(member.coincident for member in path):
        return None
    names = statements_of(schedule.scop, domain)
    if len(names) != 1 or schedule.scop.statement(names[0]).reduction is None:
        return None
    moves = [steps_of(schedule, label, position) for position in range(len(band.members))]
    write = schedule.scop.statement(names[0]).write.ref
    terms = tuple(p for p, move in enumerate(moves) if move[write][0] is Step.INVARIANT)
    results = tuple(p for p in range(len(moves)) if p not in terms)
    sizes = [constant_extent(band.members[p], domain) for p in terms]
    long = [p for p, size in zip(terms, sizes, strict=True) if size is None or size >= SHARES]
    if not long or not all(band.members[p].coincident for p in results):
        return None
    if not _is_read_once(moves, write):
        return None
    lane = max(long, key=lambda p: (_contiguous(moves[p], write), p))
    by_result = any(_contiguous(moves[p], write) > _contiguous(moves[lane], write) for p in results)
    if by_result:
        lane = long[0]
    return Sums(names[0], results, terms, lane, by_result)


def _contiguous(move: dict[str, tuple[Step, bool]], write: str) -> int:
    """Return how many reads are contiguous along a loop, less those that are strided."""
    steps = [step for ref, (step, _) in move.items() if ref != write]
    return steps.count(Step.CONTIGUOUS) - steps.count(Step.STRIDED)


def _is_read_once(moves: list[dict[str, tuple[Step, bool]]], write: str) -> bool:
    """Tell whether some operand has an element of its own for every iteration."""
    return any(
        all(move[ref][0] is not Step.INVARIANT for move in moves)
        for ref in (moves[0] if moves else ())
        if ref != write
    )


def _mapped(schedule: Schedule, label: str, found: Sums, device: GpuModel) -> Schedule | None:
    if found.by_result:
        return _columns(schedule, label, found)
    if found.results and len(found.terms) == 1:
        return _rows(schedule, label, found, device)
    return _shared(schedule, label, found, device)


def _ordered(schedule: Schedule, label: str, order: tuple[int, ...]) -> list[Transform]:
    return order_steps(label, find_band(schedule.tree, label), order)


def _columns(schedule: Schedule, label: str, found: Sums) -> Schedule | None:
    """Return `schedule` with the terms of neighbouring results dealt out to some rows."""
    count = len(found.results)
    order = (*found.results, found.lane, *(p for p in found.terms if p != found.lane))
    lane = f"{label}[{count}]"
    dealt = schedule.attempt(
        *_ordered(schedule, label, order),
        Deal(lane, SHARES),
        Rfactor(found.statement, lane),
        Distribute(label),
    )
    if dealt is None:
        return None
    parts = dealt.scop.statement(found.statement).target.array
    turned = LayOut(parts, tuple(map(Dimension, (count, *range(count)))))
    return dealt.attempt(turned) or dealt


def _rows(schedule: Schedule, label: str, found: Sums, device: GpuModel) -> Schedule | None:
    """Return `schedule` with a warp for each result, and the partial results joined by a thread."""
    count = len(found.results)
    lane = f"{label}[{count}]"
    dealt = schedule.attempt(
        *_ordered(schedule, label, (*found.results, found.lane)),
        Deal(lane, device.warp),
        Rfactor(found.statement, lane),
    )
    if dealt is None:
        return None
    tile, point = (
        fresh_label(dealt.tree, f"{label}.tile"),
        fresh_label(dealt.tree, f"{label}.point"),
    )
    rows = max(1, min(device.block, device.threads) // device.warp)
    tiled = dealt.attempt(Tile(label, (*[1] * (count - 1), rows)), Distribute(point))
    if tiled is None:
        return None
    sums, joins = outer_bands(find_band(tiled.tree, tile).child)
    summed = Threads(tuple(f"{sums}[{p}]" for p in range(count + 1)))
    joined = Threads(tuple(f"{joins}[{p}]" for p in range(count)))
    return tiled.attempt(summed, joined, _grid(tile, count))


def _grid(label: str, count: int) -> Grid:
    """Return the step that makes a grid of the first loops of a band."""
    return Grid(tuple(f"{label}[{position}]" for position in range(min(count, GRID))))


def _shared(schedule: Schedule, label: str, found: Sums, device: GpuModel) -> Schedule | None:
    """Return `schedule` with every sum dealt out to blocks, and to the threads of each.

    Where there is one sum, the partial results of its blocks are joined in groups first.
    """
    count = len(found.results)
    rest = tuple(p for p in found.terms if p != found.lane)
    steps = _ordered(schedule, label, (*found.results, *rest[:1], found.lane, *rest[1:]))
    threads = min(device.block, device.threads)
    blocks = SHARES if found.results else BLOCKS
    block, lane = (f"{label}[{count + p}]" for p in range(2))
    if rest:
        swap = Interchange(lane, f"{label}[{count + 2}]")
        steps += [Deal(block, blocks), swap, Deal(lane, threads)]
    else:
        steps += [Deal(block, threads), Deal(lane, blocks), Interchange(block, lane)]
    if not found.results:
        steps.append(Deal(block, GROUPS))
    split = schedule.attempt(*steps, Rfactor(found.statement, block))
    for _ in range(1 if found.results else 2):
        if split is not None:
            inner = bands_around(split, found.statement)[-1]
            split = split.attempt(Rfactor(found.statement, f"{inner.label}[0]"))
    outer = [Distribute(label)] if found.results else _apart(label)
    dealt = None if split is None else split.attempt(*outer)
    if dealt is None:
        return None
    grid, own = bands_around(dealt, found.statement)[:2]
    return dealt.attempt(Threads((f"{own.label}[0]",)), _grid(grid.label, len(grid.members)))


def _apart(label: str) -> list[Transform]:
    """Return the steps that give the partial results of a band a nest of their own.

    The band's body starts its result, computes partial ones and joins them; start and join stay
    together.
    """
    start, join = f"{label}.1", f"{label}.2"
    return [Reorder(label, (1, 0, 2)), Distribute(label), Fuse(start, join, 1)]
