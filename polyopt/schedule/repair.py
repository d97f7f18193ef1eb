"""What to do instead of a refused step: the cheapest change that was checked to make it legal.

In: the refused step and where it was refused; the step itself offers repairs, cheapest first.
Out: the first `Repair` that the judge accepts, or None.  Bounded in isl operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, unique
from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import islpy as isl

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import Violation, pairs_reaching
from polyopt.schedule.tree import Tree

if TYPE_CHECKING:
    from polyopt.schedule.schedule import Schedule, Transform

BUDGET = 5_000_000
"""isl operations for all candidates together: about a second."""

MAX_CANDIDATES = 24


@unique
class RepairKind(Enum):
    """What a repair does, in the words of its hint."""

    OTHER_LOOP = "another loop is legal"
    FEWER = "fewer loops are legal"
    REORDER = "legal with the parts in another order"
    REVERSE = "legal with a loop reversed"
    SHIFT = "legal after a shift"
    SKEW = "legal after a skew"
    INTERCHANGE = "legal after an interchange"
    DISTRIBUTE = "legal after splitting the loop's body"
    PRIVATISE = "legal with a copy of its own for every iteration"
    REDUCTION = "legal as a reduction"
    RESCHEDULE = "legal in the order of the affine scheduler"


@dataclass(frozen=True, slots=True)
class Repair:
    """Steps to apply instead of the refused one; the judge accepted them."""

    kind: RepairKind
    steps: tuple[Transform, ...]

    @property
    def text(self) -> str:
        """The steps in the schedule language, on one line."""
        return "; ".join(map(str, self.steps))

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(frozen=True, eq=False)
class Refused:
    """Where a step was refused: the schedule it was applied to, after the steps `done`.

    `tree`, `scop` and `dependences` are those before the step.
    """

    schedule: Schedule
    done: tuple[Transform, ...]
    scop: Scop
    dependences: Dependences
    tree: Tree
    violation: Violation

    def ordering(self, label: str) -> isl.UnionMap:
        """Return the pairs that band `label` has to keep in order."""
        return pairs_reaching(self.dependences.ordering, self.tree, label)

    def every(self, label: str) -> isl.UnionMap:
        """Return the pairs that may not run together in band `label`."""
        return pairs_reaching(self.dependences.all, self.tree, label)


@runtime_checkable
class Mendable(Protocol):
    """A step that knows what could be done instead of it."""

    def repairs(self, refused: Refused) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""


def find_repair(refused: Refused, step: Transform) -> Repair | None:
    """Return the first repair that the step offers and the judge accepts, or None."""
    if not isinstance(step, Mendable):
        return None
    try:
        with quota(BUDGET):
            for repair in islice(step.repairs(refused), MAX_CANDIDATES):
                if refused.schedule.attempt(*refused.done, *repair.steps) is not None:
                    return repair
    except BudgetError:
        return None
    return None
