"""Shift: delay a loop's iterations, those of all statements or of one.

In: a loop and an amount.  Out: the band in which the loop's values are larger by the amount.
Refuses: a statement that the loop does not run, an amount that is not affine in the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.tree import BandMember, Tree, names_at
from polyopt.transforms.amount import Distance, check_sum, size_function
from polyopt.transforms.reference import change_loop, loop

MAX_TRIES = 8


@dataclass(frozen=True, slots=True)
class Shift:
    """Run what iteration `i` did in iteration `i + amount`; of `statement` alone if it is named.

    Statements that are shifted against each other can be fused, or run in one parallel loop, where
    the second reads what later iterations of the first write (loop alignment: Callahan, "A global
    approach to detection of parallelism", 1987; retiming by affine schedules: Feautrier, "Some
    efficient solutions to the affine scheduling problem", 1992).

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.fuse import Fuse
    >>> print(demo(2).apply(Shift("L1[0]", 1), Fuse("L0", "L1")))
    for i = S0: i, S1: 1 + i:  [L0[0]]  # permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
        S1: A2[i, j] = A1[i, j]
    """

    loop: str
    amount: Distance
    statement: str = ""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the shifted tree; raises `ScheduleError` PO0301 to PO0303, PO0327."""
        check_sum(self.amount, str(self))
        ref = loop(tree, self.loop, str(self))
        names = names_at(tree, scop, ref.label)
        if self.statement and self.statement not in names:
            raise self._no_statement(names)
        delay: isl.UnionPwAff | None = None
        for name in names:
            moved = self.statement in ("", name)
            space = scop.statement(name).domain.get_space()
            part = isl.UnionPwAff.from_pw_aff(
                size_function(self.amount if moved else 0, space, str(self))
            )
            delay = part if delay is None else delay.union_add(part)
        if delay is None:
            return tree

        def change(member: BandMember) -> BandMember:
            return replace(member, schedule=member.schedule.add(delay))

        return change_loop(tree, self.loop, str(self), change)

    def _no_statement(self, names: list[str]) -> ScheduleError:
        hint = f"statements in it: {', '.join(names) or 'none'}"
        return ScheduleError(
            "PO0301", f"{self}: the loop runs no statement `{self.statement}`", hint=hint
        )

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield smaller amounts, the largest first."""
        del refused
        if isinstance(self.amount, int):
            toward = -1 if self.amount > 0 else 1
            nearer = range(self.amount + toward, 0, toward)
            for amount in (*nearer[:MAX_TRIES], -self.amount):
                yield Repair(RepairKind.AMOUNT, (replace(self, amount=amount),))
        if self.statement:
            yield Repair(RepairKind.AMOUNT, (replace(self, statement=""),))

    def __str__(self) -> str:
        words = (self.loop, self.statement, str(self.amount))
        return f"shift({', '.join(word for word in words if word)})"
