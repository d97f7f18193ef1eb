"""Move: run a nest directly before another one of the same sequence.

In: two bands.  Out: the sequence in another order; the legality check decides.
Refuses: bands that are not parts of one sequence (PO0305).
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import (
    Sequence,
    Tree,
    change_first,
    find_band,
    is_nest,
)
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Move(Written):
    """Run nest `first` directly before nest `second`; what was between them keeps its order.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo(2).apply(Move("L0", "L1")))  # they are neighbours
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    for i = i:  [L1[0]]  # carries no dependence, permutable band
      for j = j:  [L1[1]]  # carries no dependence
        S1: A2[i, j] = A1[i, j]
    """

    first: str
    second: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the nest moved; raises `ScheduleError` PO0301, PO0305."""
        for label in (self.first, self.second):
            find_band(tree, label)
        moved = change_first(tree, self._moved)
        if moved is None:
            raise ScheduleError(
                "PO0305",
                f"{self}: the two bands are not parts of one sequence",
                hint="name two nests that follow each other, with others between them",
            )
        return moved

    def _moved(self, tree: Tree) -> Tree | None:
        if not isinstance(tree, Sequence):
            return None
        own = [part for part in tree.parts if is_nest(part, self.first)]
        others = (part for part in tree.parts if part not in own)
        if not own or not any(is_nest(part, self.second) for part in others):
            return None
        rest = [part for part in tree.parts if part is not own[0]]
        place = next(n for n, part in enumerate(rest) if is_nest(part, self.second))
        return Sequence((*rest[:place], own[0], *rest[place:]))
