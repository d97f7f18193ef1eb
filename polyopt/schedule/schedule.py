"""A schedule: a Scop with its dependences, the tree that orders it, and the steps that led there.

In: transformation records.  Out: a new `Schedule` for legal steps, `IllegalSchedule` with a witness
for the others.  Nothing holds a tree that was not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.data import DataStep, renewed
from polyopt.schedule.dependences import Dependences, compute_dependences
from polyopt.schedule.legality import Violation, check_legal, mark_facts
from polyopt.schedule.privatize import privatize
from polyopt.schedule.refusal import refusal
from polyopt.schedule.repair import Refused
from polyopt.schedule.sizes import show_steps
from polyopt.schedule.source import source_tree
from polyopt.schedule.tree import Tree, show_tree


class Transform(Protocol):
    """One step: changes a tree's structure, says nothing about legality."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the changed tree; raises `ScheduleError` when the step does not fit its shape."""

    def __str__(self) -> str:
        """Return the step in the schedule language."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """An order of a Scop's instances that was proven to keep every dependence."""

    scop: Scop
    dependences: Dependences
    tree: Tree
    trace: tuple[Transform, ...] = ()

    def apply(self, *steps: Transform) -> Schedule:
        """Return the schedule after `steps`, proven legal.

        Only the last tree is judged, and those that a data step starts from and makes: what happens
        in between never runs.  Raises `IllegalSchedule` naming the step that breaks a dependence,
        `ScheduleError` for a step that does not fit.
        """
        for number, step in enumerate(steps):
            if isinstance(step, DataStep):
                before = self.apply(*steps[:number])
                return before.renew(step).apply(*steps[number + 1 :])
        tree = self.tree
        for step in steps:
            tree = step.rewrite(tree, self.scop)
        violation = check_legal(self.scop, self.dependences, tree, self.tree)
        if violation is not None:
            raise self._refusal(steps, violation)
        marked = mark_facts(self.dependences, tree, self.tree)
        return replace(self, tree=marked, trace=self.trace + steps)

    def attempt(self, *steps: Transform) -> Schedule | None:
        """Return the schedule after `steps`, or None when they are not legal or do not fit."""
        if any(isinstance(step, DataStep) for step in steps):
            try:
                return self.apply(*steps)
            except ScheduleError:
                return None
        tree = self.tree
        try:
            for step in steps:
                tree = step.rewrite(tree, self.scop)
        except ScheduleError:
            return None
        if check_legal(self.scop, self.dependences, tree, self.tree) is not None:
            return None
        marked = mark_facts(self.dependences, tree, self.tree)
        return replace(self, tree=marked, trace=self.trace + steps)

    def renew(self, step: DataStep) -> Schedule:
        """Return the schedule after a step that changes data; raises as `apply` does."""
        scop, tree = renewed(step, self.tree, self.scop)
        dependences = compute_dependences(scop)
        violation = check_legal(scop, dependences, tree)
        if violation is not None:
            refused = Refused(self, (), scop, dependences, tree, violation)
            raise refusal(refused, step, scop, dependences, tree)
        return Schedule(scop, dependences, mark_facts(dependences, tree), (*self.trace, step))

    def _refusal(self, steps: tuple[Transform, ...], last: Violation) -> IllegalSchedule:
        tree = self.tree
        for number, step in enumerate(steps):
            before, tree = tree, step.rewrite(tree, self.scop)
            violation = check_legal(self.scop, self.dependences, tree)
            if violation is not None:
                refused = Refused(
                    self, steps[:number], self.scop, self.dependences, before, violation
                )
                return refusal(refused, step, self.scop, self.dependences, tree)
        raise AssertionError(f"the steps together break {last.pairs}, no single one does")

    def __str__(self) -> str:
        return "\n".join(show_tree(self.tree, self.scop))

    @property
    def text(self) -> str:
        """The steps in the schedule language, one a line; replays on the source's schedule."""
        return show_steps(self.trace)


def source_schedule(scop: Scop) -> Schedule:
    """Return the source's own order as a schedule; scalars private to an iteration are made so."""
    scop = privatize(scop)
    dependences = compute_dependences(scop)
    tree = mark_facts(dependences, source_tree(scop))
    return Schedule(scop, dependences, tree)
