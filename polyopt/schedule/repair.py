"""Find a repair of a refused step: the cheapest change that makes it legal.

In: the refused step and its state; the step itself offers repairs, cheapest first.
Out: the first `Repair` that the legality check accepts, or None.  Bounded in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique
from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import islpy as isl

from polyopt import schedule
from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError, IllegalSchedule
from polyopt.ir.budget import query
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependence, Dependences, compute_dependences
from polyopt.schedule.legality import Violation, check_legal, pairs_reaching
from polyopt.schedule.tree import Tree, path_to, tuple_names

if TYPE_CHECKING:
    from polyopt.schedule.schedule import Schedule, Transform

BUDGET = 5_000_000
"""isl operations for each question about candidates."""

SHARE = 1 / 60
"""Part of the time left that all candidates together may take: a second for a step alone."""

MAX_CANDIDATES = 24


@unique
class RepairKind(Enum):
    """The kind of a repair, in the words of its hint."""

    OTHER_LOOP = "another loop is legal"
    FEWER = "fewer loops are legal"
    AMOUNT = "another amount is legal"
    REORDER = "legal with the parts in another order"
    REVERSE = "legal with a loop reversed"
    SHIFT = "legal after a shift"
    SKEW = "legal after a skew"
    INTERCHANGE = "legal after an interchange"
    DISTRIBUTE = "legal after splitting the loop's body"
    PRIVATISE = "legal with a copy of its own for every iteration"
    REDUCTION = "legal as a reduction"
    MODE = 'legal with fp="reassociate"'
    RESCHEDULE = "legal in the order of the affine scheduler"


@dataclass(frozen=True, slots=True)
class Repair:
    """Steps to apply instead of the refused one, checked to be legal.

    A repair of kind `MODE` is legal only if reductions are reassociable.
    """

    kind: RepairKind
    steps: tuple[Transform, ...]

    @property
    def text(self) -> str:
        """The steps in the schedule language, on one line."""
        return "; ".join(map(str, self.steps))

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(frozen=True, eq=False)
class RefusedStep:
    """The state in which a step was refused: after the steps `done` to `schedule`.

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
        pairs = self.dependences.union(d for d in self._inside(label) if not d.reduction)
        return pairs_reaching(pairs, self.tree, label)

    def every(self, label: str) -> isl.UnionMap:
        """Return the pairs that must not run together in band `label`."""
        return pairs_reaching(self.dependences.union(self._inside(label)), self.tree, label)

    def _inside(self, label: str) -> Iterator[Dependence]:
        """Return the dependences of the statements in band `label`."""
        if label not in self.tree.by_label:
            return iter(())
        _, domain = path_to(self.tree, self.scop, label)
        return self.dependences.among(frozenset(tuple_names(domain)))


@runtime_checkable
class Repairable(Protocol):
    """A step that offers repairs."""

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield repairs that might be legal, cheapest first."""


def find_repair(refused: RefusedStep, step: Transform) -> Repair | None:
    """Return the first legal repair that the step offers, or None."""
    if not isinstance(step, Repairable):
        return None
    try:
        with query("alternatives to the step", BUDGET, SHARE):
            return _first(refused, step) or _in_open_order(refused, step)
    except BudgetError:
        return None


def _first(refused: RefusedStep, step: Repairable) -> Repair | None:
    for repair in islice(step.repairs(refused), MAX_CANDIDATES):
        if refused.schedule.attempt(*refused.done, *repair.steps) is not None:
            return repair
    return None


def _in_open_order(refused: RefusedStep, step: Transform) -> Repair | None:
    """Return the step, or a repair of it, if it is legal once reductions are reassociable."""
    scop = schedule.reductions.opened(refused.scop)
    if scop is refused.scop or refused.scop is not refused.schedule.scop:
        return None
    dependences = compute_dependences(scop)
    opened = replace(refused.schedule, scop=scop, dependences=dependences)
    again = check_legal(scop, dependences, step.rewrite(refused.tree, scop))
    if again is None:
        return Repair(RepairKind.MODE, (step,))
    there = replace(refused, schedule=opened, scop=scop, dependences=dependences, violation=again)
    found = _first(there, step) if isinstance(step, Repairable) else None
    return None if found is None else Repair(RepairKind.MODE, found.steps)


def repaired(
    schedule: Schedule, steps: Sequence[Transform]
) -> tuple[tuple[Transform, ...], Schedule]:
    """Return the steps with every refused one repaired, and the schedule after them.

    Raises `IllegalSchedule` for a step without a repair, `ScheduleError` for one that does not
    apply.
    """
    taken: list[Transform] = []
    for step in steps:
        try:
            schedule = schedule.apply(step)
            taken.append(step)
        except IllegalSchedule as refusal:
            repair = refusal.repair
            if not isinstance(repair, Repair) or repair.kind is RepairKind.MODE:
                raise
            schedule = schedule.apply(*repair.steps)
            taken += repair.steps
    return tuple(taken), schedule
