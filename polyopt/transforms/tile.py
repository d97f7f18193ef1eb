"""Tile: split loops of a band into tile loops and point loops.

In: a band and one size per loop to tile.  Out: a band of tile loops over a band of point loops.
Refuses: more sizes than loops, sizes under 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Tree,
    find_band,
    fresh_label,
    replace_band,
)


@dataclass(frozen=True, slots=True)
class Tile:
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
    sizes: tuple[int, ...]

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
        if any(size < 1 for size in self.sizes):
            raise ScheduleError("PO0303", f"{self}: a tile size must be at least 1")
        outer = fresh_label(tree, f"{self.band}.tile")
        inner = fresh_label(tree, f"{self.band}.point")
        tiles = tuple(
            BandMember(_tile_index(member.schedule, size), f"{member.name}_tile")
            for member, size in zip(band.members, self.sizes, strict=False)
        )
        points = tuple(
            BandMember(m.schedule, m.name, kind=m.kind if m.kind is LoopKind.UNROLL else _SEQ)
            for m in band.members
        )

        def change(old: Band) -> Tree:
            return Band(outer, tiles, Band(inner, points, old.child))

        return replace_band(tree, band.label, change)

    def __str__(self) -> str:
        return f"tile({self.band}, {', '.join(map(str, self.sizes))})"


_SEQ = LoopKind.SEQUENTIAL


def _tile_index(schedule: isl.UnionPwAff, size: int) -> isl.UnionPwAff:
    return schedule.scale_down_val(isl.Val(size)).floor()
