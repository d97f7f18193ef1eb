"""Reverse: run a loop backwards.

In: a loop.  Out: the band with the loop counting down.  Refuses nothing itself; the legality check
decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Tree
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.repair_align import aligned
from polyopt.transforms.repair_loops import other_loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Reverse(Written):
    """Run the last iteration of a loop first (Wolfe, "Advanced loop interchanging", 1986).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Reverse("j")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = -j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop reversed; raises `ScheduleError` PO0301 to PO0303."""
        return change_loop(
            tree, self.loop, str(self), lambda m: replace(m, schedule=m.schedule.neg())
        )

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        found = loop(refused.tree, self.loop, str(self))
        yield from aligned(refused, found, self)
        yield from other_loop(refused, found, Reverse)
