"""Tile: split loops of a band into tile loops and point loops.

In: a band and one size per loop to tile.  Out: a band of tile loops over a band of point loops.
Refuses: more sizes than loops, sizes under 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.sizes import Size, value_of
from polyopt.schedule.tree import Band, BandMember, Tree, find_band, fresh_label, replace_band
from polyopt.schedulefile import MAX_SIZE
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Tile(Written):
    """Strip-mine the first `len(sizes)` loops of a band and move the tile loops outside.

    Tile loop `i_tile` counts tiles: `floor(i / size)`.  The tile loops form band `L0.tile`, the
    point loops, with all further loops of the band, `L0.point` (Wolfe, "More iteration space
    tiling", 1989).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Tile("L0", (32,))))
    for i_tile = floor(i/32):  [L0.tile[0]]  # carries no dependence
      for i = i:  [L0.point[0]]  # carries no dependence, permutable band
        for j = j:  [L0.point[1]]  # carries no dependence
          S0: A1[i, j] = A0[i, j]
    """

    band: str
    sizes: tuple[Size, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tiled tree; raises `ScheduleError` PO0301, PO0303."""
        band = find_band(tree, self.band)
        if not 1 <= len(self.sizes) <= len(band.members):
            raise ScheduleError(
                "PO0303",
                f"{self}: band {band.label} has {len(band.members)} loops, "
                f"{len(self.sizes)} sizes were given",
                hint="give at most one size per loop",
            )
        sizes = checked_sizes(self.sizes, str(self))
        outer = fresh_label(tree, f"{self.band}.tile")
        inner = fresh_label(tree, f"{self.band}.point")
        tiles = tuple(
            BandMember(tile_index(member.schedule, size), f"{member.name}_tile")
            for member, size in zip(band.members, sizes, strict=False)
        )
        points = tuple(
            BandMember(m.schedule, m.name, kind=m.kind if m.kind is LoopKind.UNROLL else _SEQ)
            for m in band.members
        )

        def change(old: Band) -> Tree:
            return Band(outer, tiles, Band(inner, points, old.child))

        return replace_band(tree, band.label, change)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        count = len(self.sizes)
        yield from transforms.repair_band.reversed_first(refused, self.band, count, self)
        yield from transforms.repair_band.skewed_first(refused, self.band, count, self)
        for fewer in range(count - 1, 0, -1):
            yield Repair(RepairKind.FEWER, (replace(self, sizes=self.sizes[:fewer]),))


_SEQ = LoopKind.SEQUENTIAL


def checked_sizes(sizes: tuple[Size, ...], step: str) -> tuple[int, ...]:
    """Return the sizes as numbers; raises `ScheduleError` PO0303 for one out of range."""
    for size in map(value_of, sizes):
        if size < 1:
            raise ScheduleError(
                "PO0303",
                f"{step}: a tile size must be at least 1",
                hint="write whole numbers from 1 on; a size of 1 leaves a loop as it is",
            )
        if size > MAX_SIZE:
            raise ScheduleError("PO0303", f"{step}: a tile size must be at most {MAX_SIZE}")
    return tuple(map(value_of, sizes))


def tile_index(schedule: isl.UnionPwAff, size: int) -> isl.UnionPwAff:
    """Return the number of the tile that a loop's value lies in."""
    return schedule.scale_down_val(isl.Val(size)).floor()
