"""Represent a schedule: a Scop with its dependences, the tree that orders it, and its steps.

In: transformation records.  Out: a new `Schedule` for legal steps, `IllegalSchedule` with a witness
for the others.  Every tree in a `Schedule` has been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from os import PathLike
from typing import Protocol

from polyopt import schedule
from polyopt.dataclass import dataclass, replace
from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.budget import bounded
from polyopt.ir.scop import Scop
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.dependences import Dependences, dependences_of
from polyopt.schedule.legality import Violation, check_legal, mark_facts
from polyopt.schedule.privatize import privatize
from polyopt.schedule.repair import RefusedStep
from polyopt.schedule.sizes import show_steps
from polyopt.schedule.source import source_tree
from polyopt.schedule.tree import Tree, show_tree
from polyopt.schedulefile import save_text


class Transform(Protocol):
    """One step: it changes a tree's structure, whether that is legal or not."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the changed tree; raises `ScheduleError` when the step does not apply."""

    def __str__(self) -> str:
        """Return the step in the schedule language."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """An order of a Scop's instances that was proven to keep every dependence.

    `before` is the schedule that the last steps were applied to.
    """

    scop: Scop
    dependences: Dependences
    tree: Tree
    trace: tuple[Transform, ...] = ()
    before: Schedule | None = None

    @bounded("a step of the schedule")
    def apply(self, *steps: Transform, show: Callable[[str], object] | None = None) -> Schedule:
        """Return the schedule after `steps`, proven legal; `show=print` prints its loop nest.

        Checks the last tree, and those before and after each data step: others in between never
        run. Raises `IllegalSchedule` naming the step that breaks a dependence, `ScheduleError` for
        a step that does not apply.
        """
        for number, step in enumerate(steps):
            if isinstance(step, DataStep):
                before = self.apply(*steps[:number], show=show) if number else self
                after = before.renew(step)
                if show is not None:
                    show(after.latest())
                rest = steps[number + 1 :]
                return after.apply(*rest, show=show) if rest else after
        tree = self.tree
        for step in steps:
            tree = step.rewrite(tree, self.scop)
        violation = check_legal(self.scop, self.dependences, tree, self.tree)
        if violation is not None:
            raise self._refusal(steps, violation)
        marked = mark_facts(self.dependences, tree, self.tree)
        after = replace(self, tree=marked, trace=self.trace + steps, before=self)
        if show is not None:
            show(after.latest())
        return after

    def attempt(self, *steps: Transform) -> Schedule | None:
        """Return the schedule after `steps`, or None when they are illegal or do not apply."""
        if any(isinstance(step, DataStep) for step in steps):
            return self._attempt_data(steps)
        tree = self.tree
        try:
            for step in steps:
                tree = step.rewrite(tree, self.scop)
        except ScheduleError:
            return None
        if check_legal(self.scop, self.dependences, tree, self.tree) is not None:
            return None
        marked = mark_facts(self.dependences, tree, self.tree)
        return replace(self, tree=marked, trace=self.trace + steps, before=self)

    def _attempt_data(self, steps: tuple[Transform, ...]) -> Schedule | None:
        """Return the schedule after `steps`, or None; refusals search no repair."""
        number = next(n for n, step in enumerate(steps) if isinstance(step, DataStep))
        before = self.attempt(*steps[:number]) if number else self
        if before is None:
            return None
        moving = tuple(takewhile(lambda step: isinstance(step, DataStep), steps[number:]))
        after = before._attempt_moves(tuple(s for s in moving if isinstance(s, DataStep)))
        rest = steps[number + len(moving) :]
        return after.attempt(*rest) if after is not None and rest else after

    def _attempt_moves(self, steps: tuple[DataStep, ...]) -> Schedule | None:
        """Return the schedule after data steps, checked together if possible."""
        try:
            if len(steps) > 1:
                found = schedule.data.renewed_by_all(steps, self.tree, self.dependences)
                if found is not None:
                    return self._checked(steps, *found)
            after = self
            for step in steps:
                after = after.renew(step)
        except ScheduleError:
            return None
        return after

    def renew(self, step: DataStep) -> Schedule:
        """Return the schedule after a data step; raises as `apply` does."""
        return self._checked((step,), *schedule.data.renewed(step, self.tree, self.dependences))

    def _checked(
        self, steps: tuple[DataStep, ...], dependences: Dependences, tree: Tree, proven: Tree
    ) -> Schedule:
        """Return the schedule after data steps if it is legal."""
        scop = dependences.scop
        violation = check_legal(scop, dependences, tree, proven)
        if violation is not None:
            refused = RefusedStep(self, (), scop, dependences, tree, violation)
            raise schedule.refusal.refusal(refused, steps[-1], scop, dependences, tree)
        marked = mark_facts(dependences, tree, proven)
        return Schedule(scop, dependences, marked, (*self.trace, *steps), self)

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The steps that led from the source's order to this one."""
        return self.trace

    def undo(self, count: int = 1) -> Schedule:
        """Return the schedule without its last `count` steps, proven like any other.

        Raises `ScheduleError` PO0309 when there are not so many, and `IllegalSchedule` where steps
        that were taken together are not legal without the last of them.
        """
        left = len(self.trace) - count
        if count < 0 or left < 0:
            raise ScheduleError(
                "PO0309",
                f"{count} steps cannot be undone: {len(self.trace)} were taken",
                hint=f"give a number from 0 to {len(self.trace)}",
            )
        known = next(one for one in reversed(self.history()) if len(one.trace) <= left)
        rest = self.trace[len(known.trace) : left]
        return known.apply(*rest) if rest else known

    def history(self) -> tuple[Schedule, ...]:
        """Return the schedules from the source's order to this one, each proven."""
        found = [self]
        while found[-1].before is not None:
            found.append(found[-1].before)
        return tuple(reversed(found))

    def latest(self) -> str:
        """Return the steps taken last, `-- tile(L0, 32)`, and the loop nest after them."""
        known = 0 if self.before is None else len(self.before.trace)
        steps = "; ".join(map(str, self.trace[known:]))
        return f"-- {steps or 'the order of the source'}\n{self}"

    def story(self) -> str:
        """Return the loop nest of the source and the one after each step."""
        return "\n\n".join(one.latest() for one in self.history())

    def table(self) -> str:
        """Return a row for each loop: how it runs, its iterations, whether it carries dependences.

        The iterations are those of the loop's longest run, in the sizes.
        """
        return schedule.table.table_of(self.dependences, self.tree)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the steps to a file, for `load_schedule` and `--schedule`; raises `UsageError`."""
        save_text(path, self.text)

    def _refusal(self, steps: tuple[Transform, ...], last: Violation) -> IllegalSchedule:
        tree = self.tree
        for number, step in enumerate(steps):
            before, tree = tree, step.rewrite(tree, self.scop)
            violation = check_legal(self.scop, self.dependences, tree, before)
            if violation is not None:
                refused = RefusedStep(
                    self, steps[:number], self.scop, self.dependences, before, violation
                )
                return schedule.refusal.refusal(refused, step, self.scop, self.dependences, tree)
        raise AssertionError(f"the steps together break {last.pairs}, no single one does")

    def __str__(self) -> str:
        return "\n".join(show_tree(self.tree, self.scop))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {len(self.trace)} steps>\n{self}"

    @property
    def text(self) -> str:
        """The steps in the schedule language, one a line; replays on the source's schedule."""
        return show_steps(self.trace)


def source_schedule(scop: Scop) -> Schedule:
    """Return the source's own order as a schedule, with scalars privatized."""
    scop = privatize(scop)
    dependences = dependences_of(scop)
    tree = mark_facts(dependences, source_tree(scop))
    return Schedule(scop, dependences, tree)


def attempt_each(schedule: Schedule, steps: Sequence[Transform]) -> Schedule:
    """Return the schedule after those of independent steps that are legal.

    They are checked together, and one by one only if some are refused.
    """
    whole = schedule.attempt(*steps) if steps else schedule
    if whole is not None:
        return whole
    for step in steps:
        schedule = schedule.attempt(step) or schedule
    return schedule
