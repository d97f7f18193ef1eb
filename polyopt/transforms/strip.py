"""Strip: split one loop of a band into strips and the iterations of a strip, in place.

In: a loop and a size.  Out: the band with the strips' loop directly outside the loop.
Refuses: a size under 1.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Scop
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import BandMember, Tree, find_band, path_to
from polyopt.transforms.reference import loop
from polyopt.transforms.strip_mining import strip_mine
from polyopt.transforms.tile import tile_index
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Strip(Written):
    """Strip-mine a loop: `i_tile` counts strips of `size` iterations, `i` runs inside it.

    The order of iterations stays (Loveman, "Program improvement by source-to-source
    transformation", 1977).  The band keeps its label; loops behind move up by one place.  The
    strips of a parallel loop are parallel, those of a loop across blocks are blocks; threads, lanes
    and copies stay with the loop itself.  Inside another loop `i_tile` the new one is `i_tile2`.

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
        label = loop(tree, self.loop, str(self)).label
        path, _ = path_to(tree, scop, label)
        taken = {member.name for member in (*path, *find_band(tree, label).members)}

        def halves(old: BandMember, size: int) -> tuple[BandMember, BandMember]:
            return _strips_and_points(old, size, fresh_name(f"{old.name}_tile", taken))

        return strip_mine(tree, self.loop, self.size, str(self), halves)


def _strips_and_points(old: BandMember, size: int, name: str) -> tuple[BandMember, BandMember]:
    free = old.kind in (LoopKind.PARALLEL, LoopKind.BLOCK)
    index, kind = tile_index(old.schedule, size), old.kind if free else LoopKind.SEQUENTIAL
    strips = BandMember(index, name, kind=kind)
    return strips, replace(old, kind=LoopKind.SEQUENTIAL) if free else old
