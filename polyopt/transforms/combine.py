"""Combine: let neighbouring threads of a device reduce their values pairwise.

In: a loop.  Out: the same tree with the loop marked; the legality check decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Tree
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.repair_parallel import marked_instead
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Combine(Written):
    """Run a loop's iterations by neighbouring threads of a warp, which combine pairwise.

    The loop must carry no dependence but those of a reassociable reduction.  With 2, 4, 8, 16 or 32
    iterations of one assignment the threads of a warp shuffle their values; any other loop runs
    sequentially.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Combine("j")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # lane
        S0: A1[i, j] = A0[i, j]
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked; raises `ScheduleError` PO0301 to PO0303."""
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, kind=LoopKind.LANE))

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        found = loop(refused.tree, self.loop, str(self))
        yield from marked_instead(refused, found, Combine)
