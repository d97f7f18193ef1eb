"""Unroll: repeat a loop's body instead of looping.

In: a loop.  Out: the same tree with the loop marked; the legality check decides.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Tree
from polyopt.transforms.reference import change_loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Unroll(Written):
    """Repeat a loop's body instead of looping.

    The trip count must be a constant when code is emitted; any other loop stays a loop.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Unroll("j")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # unroll
        S0: A1[i, j] = A0[i, j]
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked; raises `ScheduleError` PO0301 to PO0303."""
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, kind=LoopKind.UNROLL))
