"""Strip: split one loop of a band into strips and the iterations of a strip, in place.

In: a loop and a size.  Out: the band with the strips' loop directly outside the loop.
Refuses: a size under 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import Band, BandMember, Tree, replace_band
from polyopt.transforms.reference import loop
from polyopt.transforms.tile import tile_index, tile_sizes


@dataclass(frozen=True, slots=True)
class Strip:
    """Strip-mine a loop: `i_tile` counts strips of `size` iterations, `i` runs inside it.

    The order of iterations stays (Loveman, "Program improvement by source-to-source
    transformation", 1977).  The band keeps its label; loops behind move up by one place.  The
    strips of a parallel loop are parallel, those of a loop across blocks are blocks; threads, lanes
    and copies stay with the loop itself.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Strip("j", 8)))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j_tile = floor(j/8):  [L0[1]]  # carries no dependence
        for j = j:  [L0[2]]  # carries no dependence
          S0: A1[i, j] = A0[i, j]
    """

    loop: str
    size: Size

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop split; raises `ScheduleError` PO0301 to PO0303."""
        ref = loop(tree, self.loop, str(self))
        (size,) = tile_sizes((self.size,), str(self))
        assert ref.position is not None
        position = ref.position

        def change(band: Band) -> Tree:
            old = band.members[position]
            free = old.kind in (LoopKind.PARALLEL, LoopKind.BLOCK)
            strips = BandMember(
                tile_index(old.schedule, size),
                f"{old.name}_tile",
                kind=old.kind if free else LoopKind.SEQUENTIAL,
            )
            inner = replace(old, kind=LoopKind.SEQUENTIAL) if free else old
            members = (*band.members[:position], strips, inner, *band.members[position + 1 :])
            return replace(band, members=members)

        return replace_band(tree, ref.label, change)

    def __str__(self) -> str:
        return f"strip({self.loop}, {self.size})"
