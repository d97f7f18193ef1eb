"""Fuse elementwise nests before and after a contraction into its blocks.

In: a tiled contraction between nests that process its results element by element.  Out: these
nests in the same blocks, so that a block stays in L2 from its initialization to its use; blocks
run in parallel.
Leaves: other nests over the results, and those that would make parallel loops sequential.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy.fusion import adjacent, read_in, written_in
from polyopt.transforms import Cut, Fuse, Parallelize, Tile


def with_epilogues(
    schedule: Schedule, label: str, tile: str, batch: int, block: tuple[Size, ...]
) -> Schedule | None:
    """Return `schedule` with nests that initialize or use blocks of results fused, or None.

    Fused blocks run in parallel; the results of a block stay in L2 from their start to their use.
    """
    found = schedule.attempt(Cut(tile, 2))
    joined = 0
    while found is not None:
        more = _with_prologue(found, label, tile, batch, block) or _with_epilogue(
            found, label, tile, batch, block
        )
        if more is None:
            break
        found, label, tile = more
        joined += 1
    if found is None or not joined:
        return None
    outer = [Parallelize(f"{label}[{p}]") for p in range(batch)]
    return found.attempt(Parallelize(f"{tile}[0]"), Parallelize(f"{tile}[1]"), *outer)


_Joint = tuple[Schedule, str, str]
"""A schedule, the outermost band of a joint nest, its band of tiles."""


def _with_prologue(
    schedule: Schedule, label: str, tile: str, batch: int, block: tuple[Size, ...]
) -> _Joint | None:
    """Return the schedule with the nest before, which initializes results, in the same blocks."""
    before = prologue_of(schedule, label, batch)
    if before is None:
        return None
    steps: list[Transform] = [Fuse(before, label, batch)] if batch else []
    inner = f"{before}.inner" if batch else before
    steps += [Tile(inner, block), Fuse(f"{inner}.tile", tile, 2)]
    outer = before if batch else f"{inner}.tile"
    return _fused(schedule, steps, outer, f"{inner}.tile", batch)


def prologue_of(schedule: Schedule, label: str, batch: int) -> str | None:
    """Return the nest before `label` that initializes its results, or None."""
    before = next((one for one, two in adjacent(schedule.tree) if two == label), None)
    if before is None or not _is_elementwise(schedule, before, batch):
        return None
    return before if written_in(schedule, before) & written_in(schedule, label) else None


def _with_epilogue(
    schedule: Schedule, label: str, tile: str, batch: int, block: tuple[Size, ...]
) -> _Joint | None:
    """Return the schedule with the nest behind, which uses results, in the same blocks."""
    after = next((two for one, two in adjacent(schedule.tree) if one == label), None)
    if after is None or not _is_elementwise(schedule, after, batch):
        return None
    if not written_in(schedule, label) & read_in(schedule, after):
        return None
    steps: list[Transform] = [Fuse(label, after, batch)] if batch else []
    steps += [Tile(after, block), Fuse(tile, f"{after}.tile", 2)]
    return _fused(schedule, steps, label, tile, batch)


def _fused(
    schedule: Schedule, steps: Sequence[Transform], label: str, tile: str, batch: int
) -> _Joint | None:
    found = schedule.attempt(*steps)
    if found is None:
        return None
    members = list(find_band(found.tree, tile).members)
    if batch:
        members += find_band(found.tree, label).members[:batch]
    return (found, label, tile) if all(member.coincident for member in members) else None


def _is_elementwise(schedule: Schedule, label: str, batch: int) -> bool:
    """Tell whether a nest processes each element of a batch of matrices by itself."""
    band = find_band(schedule.tree, label)
    is_deep = len(band.members) == batch + 2 and next(iter(bands(band.child)), None) is None
    return is_deep and band.permutable and all(member.coincident for member in band.members)
