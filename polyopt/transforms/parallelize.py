"""Parallelize: run a loop's iterations on several threads.

In: a loop.  Out: the same tree with the loop marked; the legality check decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Tree
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Parallelize(Written):
    """Run a loop's iterations on several threads; a barrier follows.

    The loop must carry no dependence.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Parallelize("i")))
    for i = i:  [L0[0]]  # parallel, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked; raises `ScheduleError` PO0301 to PO0303."""
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, kind=LoopKind.PARALLEL))

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        found = loop(refused.tree, self.loop, str(self))
        yield from transforms.repair_parallel.marked_instead(refused, found, Parallelize)
