"""Fuse products with the passes between them, a block of rows at a time.

In: a schedule in which a product makes rows that later nests change and another product reads, as
the scores of attention.  Out: one nest over blocks of rows: the threads keep a block of the rows
between the products, and the matrix of all rows is never in memory.
Leaves: products with nothing but elementwise nests between, those whose rows are tiled differently,
and single matrices with too few blocks of rows for all threads.
The order is that of Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021, with whole
rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.model.contraction import TURNS, USUAL
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import value_of
from polyopt.schedule.tree import Band, Leaf, bands, find_band, fresh_label
from polyopt.strategy.extents import count_similar_loops, growing_rank
from polyopt.strategy.fusion import adjacent, read_in, statements_in, written_in
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Cut, Fuse, Move, Parallelize, Recompute, Tile, Vectorize


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A nest over blocks of rows: its outermost band, the loops of a batch, the band of tiles."""

    label: str
    batch: int
    tile: str
    rows: int


def fuse_row_blocks(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with products and the passes over their rows fused by blocks of rows."""
    for label in outer_bands(schedule.tree):
        if label in outer_bands(schedule.tree):
            schedule = _from(schedule, label, machine) or schedule
    return schedule


def _from(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with all from the product at `label` to the last of its rows fused."""
    first = _blocks(schedule, label)
    if first is None or not _has_blocks_enough(first, machine):
        return None
    products = [label, *_users(schedule, first)]
    if len(products) == 1:
        return None
    found = _sequential(schedule, products)
    found = found and found.attempt(*_cut(found, first.tile))
    last = products[-1]
    while found is not None and last in outer_bands(found.tree):
        after = next((two for one, two in adjacent(found.tree) if one == label), None)
        found = None if after is None else _with_next(found, first, after)
    if found is None:
        return None
    found, first = _with_initial_values(found, first)
    return found.attempt(*_parallel(first))


def _sequential(schedule: Schedule, labels: list[str]) -> Schedule | None:
    """Return `schedule` without the steps that make loops of the nests `labels` parallel."""
    nests = (find_band(schedule.tree, label) for label in labels)
    inside = {band.label for nest in nests for band in (nest, *bands(nest.child))}

    def is_left_out(step: Transform) -> bool:
        return isinstance(step, Parallelize) and step.loop.partition("[")[0] in inside

    steps = [step for step in schedule.trace if not is_left_out(step)]
    return schedule.history()[0].attempt(*steps)


def _cut(schedule: Schedule, tile: str) -> list[Transform]:
    """Return the step that makes the loop over blocks of rows a band of its own."""
    return [Cut(tile, 1)] if len(find_band(schedule.tree, tile).members) > 1 else []


def _with_next(schedule: Schedule, first: _Blocks, after: str) -> Schedule | None:
    """Return `schedule` with the nest `after` in the blocks of rows, before them or recomputed."""
    again = _recomputed(schedule, after)
    if again is not None:
        return again
    fused = None
    if written_in(schedule, first.label) & read_in(schedule, after):
        fused = _fused(schedule, first, after)
    return fused or schedule.attempt(Move(after, first.label))


def _fused(schedule: Schedule, first: _Blocks, after: str) -> Schedule | None:
    """Return `schedule` with the nest `after` fused with the blocks of rows before it, or None."""
    blocks = _blocks(schedule, after)
    if blocks is None and len(find_band(schedule.tree, after).members) <= first.batch:
        return None
    if blocks is None:
        tile, steps = _in_blocks(schedule, first, after)
    else:
        tile, steps = blocks.tile, _cut(schedule, blocks.tile)
    apart = schedule.attempt(*steps)
    if apart is None or not _have_same_loops(apart, first, after, tile):
        return None
    batch: list[Transform] = [Fuse(first.label, after, first.batch)] if first.batch else []
    fused = apart.attempt(*batch, Fuse(first.tile, tile, 1))
    return fused if fused is not None and _are_independent(fused, first) else None


def _with_initial_values(schedule: Schedule, blocks: _Blocks) -> tuple[Schedule, _Blocks]:
    """Return the schedule with nests before, which set what the blocks update, in the blocks."""
    labels = outer_bands(schedule.tree)
    for label in reversed(labels[: labels.index(blocks.label)]):
        if not written_in(schedule, label) & written_in(schedule, blocks.label):
            continue
        if len(find_band(schedule.tree, label).members) <= blocks.batch:
            continue
        tile, steps = _in_blocks(schedule, blocks, label)
        apart = schedule.attempt(Move(label, blocks.label), *steps)
        if apart is None or not _have_same_loops(apart, blocks, label, tile):
            continue
        joint = replace(blocks, label=label if blocks.batch else tile, tile=tile)
        batch = [Fuse(label, blocks.label, blocks.batch)] if blocks.batch else []
        fused = apart.attempt(*batch, Fuse(tile, blocks.tile, 1))
        if fused is not None and _are_independent(fused, joint):
            schedule, blocks = fused, joint
    return schedule, blocks


def _have_same_loops(schedule: Schedule, first: _Blocks, after: str, tile: str) -> bool:
    """Tell whether a nest has the loops over the batch and over the blocks of rows."""
    domain = schedule.scop.domain
    pairs = [(first.tile, tile, 1)]
    pairs += [(first.label, after, first.batch)] if first.batch else []
    bands_of = [(find_band(schedule.tree, a), find_band(schedule.tree, b), n) for a, b, n in pairs]
    return all(count_similar_loops(domain, a, b) >= n for a, b, n in bands_of)


def _in_blocks(schedule: Schedule, first: _Blocks, label: str) -> tuple[str, list[Transform]]:
    """Return the band of tiles of a pass over the rows, and the steps that make it."""
    inner, steps = label, list[Transform]()
    if first.batch:
        inner, steps = fresh_label(schedule.tree, f"{label}.inner"), [Cut(label, first.batch)]
    tile = fresh_label(schedule.tree, f"{inner}.tile")
    return tile, [*steps, Tile(inner, (first.rows,))]


def _are_independent(schedule: Schedule, blocks: _Blocks) -> bool:
    """Tell whether the blocks of rows, of each matrix of the batch, depend on no others."""
    outer = find_band(schedule.tree, blocks.label).members[: blocks.batch]
    return all(m.coincident for m in (*outer, find_band(schedule.tree, blocks.tile).members[0]))


def _recomputed(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the values of a nest that reads no memory computed at their uses."""
    statements = statements_in(schedule, label)
    if len(statements) != 1 or statements[0].reads:
        return None
    array = schedule.scop.array(statements[0].target.array)
    if array.role is not Role.TEMP:
        return None
    found: Schedule | None = schedule
    for reader in _innermost(schedule, array.name):
        found = found and found.attempt(Recompute(array.name, reader))
        found = found and (found.attempt(Vectorize(reader)) or found)
    return None if found is None or label in outer_bands(found.tree) else found


def _innermost(schedule: Schedule, array: str) -> list[str]:
    """Return the innermost loops of statements that read an array."""
    return [
        f"{band.label}[{len(band.members) - 1}]"
        for band in bands(schedule.tree)
        if isinstance(band.child, Leaf) and array in read_in(schedule, band.label)
    ]


def _parallel(blocks: _Blocks) -> Iterator[Transform]:
    yield Parallelize(f"{blocks.tile}[0]")
    yield from (Parallelize(f"{blocks.label}[{p}]") for p in range(blocks.batch))


def _blocks(schedule: Schedule, label: str) -> _Blocks | None:
    """Return how the nest at `label` is tiled if it is a tiled product, perhaps of a batch."""
    outer = find_band(schedule.tree, label)
    own = f"{label}.tile"
    tiled = outer if label.endswith(".tile") else outer.child
    batch = 0 if tiled is outer else len(outer.members)
    if not isinstance(tiled, Band) or own == tiled.label or not tiled.label.endswith(".tile"):
        return None
    step = next(
        (
            step
            for step in schedule.trace
            if isinstance(step, Tile) and f"{step.band}.tile" == tiled.label and len(step.sizes) > 1
        ),
        None,
    )
    if step is None or not all(m.coincident for m in (*outer.members[:batch], tiled.members[0])):
        return None
    return _Blocks(label, batch, tiled.label, value_of(step.sizes[0]))


def _has_blocks_enough(blocks: _Blocks, machine: Machine) -> bool:
    """Tell whether a product of usual size has blocks of rows for all threads."""
    return blocks.batch > 0 or USUAL // blocks.rows >= TURNS * machine.cores


def _users(schedule: Schedule, first: _Blocks) -> list[str]:
    """Return the later products that read, through passes, temporary rows that `first` makes.

    A pass between them needs whole rows, as that of a softmax does; passes over elements run in the
    blocks of the product before.
    """
    labels = outer_bands(schedule.tree)
    later = labels[labels.index(first.label) + 1 :]
    made = _rows(schedule, written_in(schedule, first.label))
    found: list[str] = []
    has_whole_rows = False
    for label in later:
        reads = _rows(schedule, read_in(schedule, label))
        if not reads & made:
            continue
        blocks = _blocks(schedule, label)
        if blocks is None:
            made |= _rows(schedule, written_in(schedule, label))
            has_whole_rows |= any(bands(find_band(schedule.tree, label).child))
        elif has_whole_rows and (blocks.batch, blocks.rows) == (first.batch, first.rows):
            found.append(label)
    return found


def _rows(schedule: Schedule, names: set[str]) -> set[str]:
    """Return the temporaries among `names` that are matrices at least."""
    arrays = map(schedule.scop.array, names)
    return {a.name for a in arrays if a.role is Role.TEMP and growing_rank(a) > 1}
