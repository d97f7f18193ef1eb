"""Map reductions: partial results by neighbouring threads, combined in a fixed order.

In: a nest with a reassociable reduction.  Out: its terms distributed to threads, and to blocks if
there are few results; partial results are combined by the block, and by a kernel of their own.
Every run adds in the same order, on every device.
"""

from __future__ import annotations

from contextlib import suppress

from polyopt.dataclass import dataclass
from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Leaf,
    Sequence,
    bands,
    find_band,
    fresh_label,
    path_to,
    statements_of,
)
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.fusion import share_data
from polyopt.strategy.gpu.coalescing import access_steps
from polyopt.strategy.gpu.mapped_loops import bands_around, is_mapped, labels_in_sequence
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.partial_reductions import (
    StepRefused,
    apply_steps,
    combine_in_warps,
    last_join,
    split_by_warps,
)
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import Stride
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import (
    Combine,
    Deal,
    Dimension,
    Distribute,
    Fuse,
    Grid,
    Interchange,
    LayOut,
    Move,
    Rfactor,
    Threads,
    Tile,
)

BUDGET = 5_000_000  # isl operations for one sum
BLOCKS = 512
"""Blocks that share one sum: some for each processor of a large device."""
SHARES = 32
"""Blocks, or rows of threads, that share each of several sums."""
GRID = 3
"""Dimensions of a grid."""


@dataclass(frozen=True, slots=True)
class SumRoles:
    """Roles of a band's loops, by position: over results, and over the terms of each.

    `lane` is the loop over terms for neighbouring threads; `by_result`: neighbouring threads rather
    have neighbouring results.
    """

    statement: str
    results: tuple[int, ...]
    terms: tuple[int, ...]
    lane: int
    by_result: bool


def map_sums(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with long reductions distributed to threads and blocks."""
    for label in [band.label for band in bands(schedule.tree)]:
        if any(b.label == label and not is_mapped(b) for b in bands(schedule.tree)):
            with optional("a sum", BUDGET):
                found = find_sums(schedule, label)
                schedule = (found and _mapped(schedule, label, found, device)) or schedule
    return schedule


def find_sums(schedule: Schedule, label: str) -> SumRoles | None:
    """Return the reductions of a band that is not in a parallel loop, or None."""
    band = find_band(schedule.tree, label)
    path, domain = path_to(schedule.tree, schedule.scop, label)
    if not isinstance(band.child, Leaf) or any(member.coincident for member in path):
        return None
    names = statements_of(schedule.scop, domain)
    if len(names) != 1 or schedule.scop.statement(names[0]).reduction is None:
        return None
    moves = [access_steps(schedule, label, position) for position in range(len(band.members))]
    write = schedule.scop.statement(names[0]).write.ref
    terms = tuple(p for p, move in enumerate(moves) if move[write][0] is Stride.INVARIANT)
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
    return SumRoles(names[0], results, terms, lane, by_result)


def _contiguous(move: dict[str, tuple[Stride, bool]], write: str) -> int:
    """Return the number of contiguous reads along a loop, less that of strided ones."""
    steps = [step for ref, (step, _) in move.items() if ref != write]
    return steps.count(Stride.CONTIGUOUS) - steps.count(Stride.STRIDED)


def _is_read_once(moves: list[dict[str, tuple[Stride, bool]]], write: str) -> bool:
    """Tell whether some operand has an element of its own for every iteration."""
    return any(
        all(move[ref][0] is not Stride.INVARIANT for move in moves)
        for ref in (moves[0] if moves else ())
        if ref != write
    )


def _mapped(schedule: Schedule, label: str, found: SumRoles, device: GpuModel) -> Schedule | None:
    if found.by_result:
        return _columns(schedule, label, found)
    with suppress(StepRefused):
        return _shared(schedule, label, found, device)
    return None


def _ordered(schedule: Schedule, label: str, order: tuple[int, ...]) -> list[Transform]:
    return order_steps(label, find_band(schedule.tree, label), order)


def _columns(schedule: Schedule, label: str, found: SumRoles) -> Schedule | None:
    """Return `schedule` with the terms of neighbouring results distributed to rows of threads."""
    count = len(found.results)
    order = (*found.results, found.lane, *(p for p in found.terms if p != found.lane))
    lane = f"{label}[{count}]"
    distributed = schedule.attempt(
        *_ordered(schedule, label, order),
        Deal(lane, SHARES),
        Rfactor(found.statement, lane),
        Distribute(label),
    )
    if distributed is None:
        return None
    parts = distributed.scop.statement(found.statement).target.array
    transposed = LayOut(parts, tuple(map(Dimension, (count, *range(count)))))
    return distributed.attempt(transposed) or distributed


def _grid(label: str, count: int) -> Grid:
    """Return the step that maps the first loops of a band to a grid."""
    return Grid(tuple(f"{label}[{position}]" for position in range(min(count, GRID))))


def _shared(schedule: Schedule, label: str, found: SumRoles, device: GpuModel) -> Schedule:
    """Return `schedule` with every sum distributed to blocks, and to the threads of each.

    The threads of a block combine; the partial results of its blocks are combined by one block, or
    by a warp where there are several sums.  Raises `StepRefused`.
    """
    count = len(found.results)
    rest = tuple(p for p in found.terms if p != found.lane)
    steps = _ordered(schedule, label, (*found.results, *rest[:1], found.lane, *rest[1:]))
    threads = min(device.block, device.threads)
    blocks = device.warp if found.results else min(BLOCKS, device.threads)
    block, lane = (f"{label}[{count + p}]" for p in range(2))
    if rest:
        swap = Interchange(lane, f"{label}[{count + 2}]")
        steps += [Deal(block, blocks), swap, Deal(lane, threads)]
    else:
        steps += [Deal(block, threads), Deal(lane, blocks), Interchange(block, lane)]
    schedule = apply_steps(schedule, *steps, Rfactor(found.statement, block))
    last = last_join(schedule)
    own = bands_around(schedule, found.statement)[-1].label
    schedule = apply_steps(schedule, Rfactor(found.statement, f"{own}[0]"))
    joins: tuple[str, ...] = (last_join(schedule),)
    if threads > device.warp:
        schedule, joins = split_by_warps(schedule, joins[0], device.warp)
    if found.results:
        schedule = apply_steps(schedule, Distribute(label))
    grid, own_loops = bands_around(schedule, found.statement)[:2]
    schedule = apply_steps(schedule, Threads((f"{own_loops.label}[0]",)))
    schedule = combine_in_warps(schedule, joins, grid.label)
    schedule = apply_steps(schedule, _grid(grid.label, len(grid.members)))
    if found.results:
        return _by_warps(schedule, last, grid.label, count, device)
    lasts: tuple[str, ...] = (last,)
    if blocks > device.warp:
        schedule, lasts = split_by_warps(schedule, last, device.warp)
    return combine_in_warps(schedule, lasts, None)


def _by_warps(
    schedule: Schedule, join: str, partial: str, count: int, device: GpuModel
) -> Schedule:
    """Return `schedule` with a warp for each of several joins, after the nest `partial`.

    Adjacent nests that initialize or use the results are in the same kernel.
    """
    (band,) = bands_around(schedule, join)
    joint = schedule
    with suppress(StepRefused):
        joint = _with_ends(schedule, band.label, partial, count)
    label = bands_around(joint, join)[0].label
    tile = fresh_label(joint.tree, f"{label}.tile")
    point = fresh_label(joint.tree, f"{label}.point")
    rows = max(1, min(device.block, device.threads) // device.warp)
    joint = apply_steps(joint, Tile(label, (*[1] * (count - 1), rows)))
    if isinstance(find_band(joint.tree, point).child, Sequence):
        joint = apply_steps(joint, Distribute(point))
    for inner in outer_bands(find_band(joint.tree, tile).child):
        steps: list[Transform] = [Threads(tuple(f"{inner}[{p}]" for p in range(count)))]
        if any(b.label == inner for b in bands_around(joint, join)):
            steps.append(Combine(f"{inner}[{count}]"))
        joint = apply_steps(joint, *steps)
    return apply_steps(joint, _grid(tile, count))


def _with_ends(schedule: Schedule, label: str, partial: str, count: int) -> Schedule:
    """Return `schedule` with a join's nest fused with those over its results alone."""
    labels = labels_in_sequence(schedule, label)
    start = end = labels.index(partial)
    while start and _is_plain(schedule, labels[start - 1], label, count):
        start -= 1
    if start < end:
        schedule = apply_steps(schedule, *(Move(other, label) for other in labels[start:end]))
    group = [*labels[start:end], label]
    for other in labels[labels.index(label) + 1 :]:
        if not _is_plain(schedule, other, label, count):
            break
        group.append(other)
    return apply_steps(schedule, *(Fuse(group[0], other, count) for other in group[1:]))


def _is_plain(schedule: Schedule, label: str, join: str, count: int) -> bool:
    """Tell whether a nest runs only over results of a join."""
    band = find_band(schedule.tree, label)
    is_free = all(member.coincident for member in band.members)
    is_whole = len(band.members) == count and isinstance(band.child, Leaf) and is_free
    return is_whole and not is_mapped(band) and share_data(schedule, label, join)
