"""Interchange: swap two loops of one band.

In: two loops.  Out: the band with the two in each other's place.
Refuses: loops of different bands.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Band, Tree, replace_band
from polyopt.transforms.reference import loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Interchange(Written):
    """Swap loops `first` and `second` (Allen and Kennedy, "Automatic loop interchange", 1984).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Interchange("i", "j")))
    for j = j:  [L0[0]]  # carries no dependence, permutable band
      for i = i:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    first: str
    second: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops swapped; raises `ScheduleError` PO0301 to PO0304."""
        a, b = loop(tree, self.first, str(self)), loop(tree, self.second, str(self))
        if a.label != b.label or a.position is None or b.position is None:
            raise ScheduleError(
                "PO0304",
                f"{self}: the loops belong to different bands, {a} and {b}",
                hint="distribute or fuse first, so that one band holds both",
            )
        here, there = a.position, b.position

        def change(band: Band) -> Tree:
            members = list(band.members)
            members[here], members[there] = members[there], members[here]
            return Band(band.label, tuple(members), band.child)

        return replace_band(tree, a.label, change)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        places = [loop(refused.tree, name, str(self)) for name in (self.first, self.second)]
        last = max(place.position or 0 for place in places)
        yield from transforms.repair_band.reversed_first(refused, places[0].label, last + 1, self)
        yield from transforms.repair_band.skewed_first(refused, places[0].label, last + 1, self)
