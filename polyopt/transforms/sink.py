"""Sink: make a loop the innermost one around every statement it holds.

In: a loop.  Out: the nest without it, and a band with it around each leaf below.
Refuses: a loop that is innermost already.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.never import assert_never
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    fresh_label,
    replace_band,
)
from polyopt.transforms.reference import loop
from polyopt.transforms.repair_data import own_copies
from polyopt.transforms.repair_loops import other_loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Sink(Written):
    """Move `loop` inside all loops and sequences below it, as bands `L0.lanes`, `L0.lanes2`, ….

    Statements that follow each other in one iteration then each run over all iterations of the loop
    before the next one does (loop distribution and interchange in one step: Allen and Kennedy,
    "Automatic translation of FORTRAN programs to vector form", 1987).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Sink("i")))
    for j = j:  [L0[0]]  # carries no dependence
      for i = i:  [L0.lanes[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the changed tree; raises `ScheduleError` PO0301, PO0302, PO0306."""
        found = loop(tree, self.loop, str(self))
        position = found.position or 0
        taken: set[str] = set()

        def place(below: Tree, member: BandMember) -> Tree:
            match below:
                case Leaf():
                    return Band(self._label(tree, found.label, taken), (member,), below)
                case Band():
                    return replace(below, child=place(below.child, member))
                case Filter():
                    return Filter(below.domain, place(below.child, _within(member, below)))
                case Sequence():
                    parts = (place(part, member) for part in below.parts)
                    return Sequence(tuple(part for part in parts if isinstance(part, Filter)))
                case _:
                    assert_never(below)

        def change(band: Band) -> Tree:
            rest = (*band.members[:position], *band.members[position + 1 :])
            if isinstance(band.child, Leaf) and position == len(rest):
                message = f"{self}: the loop is innermost already"
                raise ScheduleError("PO0306", message, hint="leave the step out")
            below = place(band.child, band.members[position])
            return Band(band.label, rest, below) if rest else below

        return replace_band(tree, found.label, change)

    def _label(self, tree: Tree, band: str, taken: set[str]) -> str:
        wish, number = f"{band}.lanes", 1
        label = fresh_label(tree, wish)
        while label in taken:
            number += 1
            label = fresh_label(tree, f"{wish}{number}")
        taken.add(label)
        return label

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        found = loop(refused.tree, self.loop, str(self))
        yield from own_copies(refused, self.loop, self)
        yield from other_loop(refused, found, Sink)


def _within(member: BandMember, part: Filter) -> BandMember:
    return replace(member, schedule=member.schedule.intersect_domain(part.domain))
