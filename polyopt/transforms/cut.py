"""Cut: split a band in two nested bands.

In: a band and how many loops stay outside.  Out: the same loops in the same order, as two bands.
Refuses: a cut at the band's ends.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Band, Tree, find_band, fresh_label, replace_band
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Cut(Written):
    """Leave the first `count` loops in band `band` and give the others band `L0.inner`.

    The order does not change; later steps can tile or split the inner loops alone.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Cut("L0", 1)))
    for i = i:  [L0[0]]  # carries no dependence
      for j = j:  [L0.inner[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    band: str
    count: int

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the band cut; raises `ScheduleError` PO0301, PO0303."""
        band = find_band(tree, self.band)
        if not 0 < self.count < len(band.members):
            raise ScheduleError(
                "PO0303",
                f"{self}: band {self.band} has {len(band.members)} loops",
                hint="leave at least one loop on each side",
            )
        label = fresh_label(tree, f"{self.band}.inner")

        def change(old: Band) -> Tree:
            inner = Band(label, old.members[self.count :], old.child)
            return Band(old.label, old.members[: self.count], inner)

        return replace_band(tree, self.band, change)
