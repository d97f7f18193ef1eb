"""Rotate: run the outermost loops of a band innermost.

In: a band, how many of its loops.  Out: the band with these loops behind the others.
Refuses: a band that is not there.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Band, Tree, replace_band
from polyopt.transforms.reference import loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Rotate(Written):
    """Move the outermost `count` loops of a band behind the others.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Rotate("L0")))
    for j = j:  [L0[0]]  # carries no dependence, permutable band
      for i = i:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    band: str
    count: int = 1

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops moved; raises `ScheduleError` PO0301."""
        label = loop(tree, f"{self.band}[0]", str(self)).label

        def change(band: Band) -> Tree:
            place = self.count % len(band.members)
            return Band(band.label, (*band.members[place:], *band.members[:place]), band.child)

        return replace_band(tree, label, change)
