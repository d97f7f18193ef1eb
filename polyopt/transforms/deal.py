"""Deal: distribute the iterations of a loop cyclically, in place.

In: a loop and the number of lanes.  Out: the band with a loop over lanes outside the loop over
the iterations of a lane; the legality check decides, since the order changes.
Refuses: a number under 1.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.scop import Scop
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import BandMember, Tree
from polyopt.transforms.strip_mining import strip_mine
from polyopt.transforms.tile import tile_index
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Deal(Written):
    """Give iteration `i` to lane `i_lane`, `i` modulo `size`; `i_tile` counts a lane's iterations.

    Neighbouring iterations are in neighbouring lanes: threads that run a lane each have coalesced
    accesses.  The band keeps its label; loops behind move up by one place.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Deal("j", 8)))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j_lane = j mod 8:  [L0[1]]  # carries no dependence
        for j_tile = floor(j/8):  [L0[2]]  # carries no dependence
          S0: A1[i, j] = A0[i, j]
    """

    loop: str
    size: Size

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop split; raises `ScheduleError` PO0301 to PO0303."""
        return strip_mine(tree, self.loop, self.size, str(self), _lanes_and_rounds)


def _lanes_and_rounds(old: BandMember, size: int) -> tuple[BandMember, BandMember]:
    rounds = tile_index(old.schedule, size)
    hands = old.schedule.sub(rounds.scale_val(isl.Val(size)))
    return BandMember(hands, f"{old.name}_lane"), BandMember(rounds, f"{old.name}_tile")
