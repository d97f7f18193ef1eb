"""Run a table of rules over a schedule, one after the other.

In: a schedule, a machine, rules in order.  Out: the schedule that they make, and the bands that
need nothing more.  A rule that takes too long is left out.
Refuses: nothing; each step that a rule takes was proven by `Schedule.attempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.budget import optional
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Tree, bands, find_band
from polyopt.strategy.tiling import outer_bands

BUDGET = 20_000_000  # isl operations for one rule: a few seconds
MOST = 0.4  # of the time that is left, for one rule


@dataclass(frozen=True, slots=True)
class Reserved:
    """Bands that a later rule decides on.

    `batches` of small products; `columns`: sums that may join a pass over the same rows; `rows`:
    sums along rows that go with what makes or uses the rows; `running`: sums of rows that a
    recurrence makes; `passes`: bands that share a pass with sums of rows.
    """

    batches: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    rows: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    passes: tuple[str, ...] = ()

    @property
    def sums(self) -> frozenset[str]:
        """All sums."""
        return self.batches | self.columns | self.rows | self.running


@dataclass(frozen=True, slots=True)
class State:
    """A schedule in the making: `settled` bands need nothing more.

    `begun` is the schedule that a table began with, `fused` the one whose nests were fused last.
    `split`: sums over whole nests get partial results.
    """

    schedule: Schedule
    machine: Machine
    begun: Schedule
    fused: Schedule
    settled: frozenset[str] = frozenset()
    reserved: Reserved = field(default_factory=Reserved)
    split: bool = True

    @staticmethod
    def of(schedule: Schedule, machine: Machine) -> State:
        """Return the state in which nothing was decided."""
        return State(schedule, machine, schedule, schedule)

    @property
    def outer(self) -> frozenset[str]:
        """The labels of the outermost bands."""
        return frozenset(outer_bands(self.schedule.tree))


class Settles(Enum):
    """Which bands need nothing more after a rule."""

    NOTHING = auto()
    NEW = auto()  # those that the rule made
    MARKED = auto()  # those with a parallel loop at or below them, if the rule did something
    BOTH = auto()  # those that it made, and all with a parallel loop


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision: where `when` holds, `propose` returns the changed state.

    `name` is what budgets and reports call it.
    """

    name: str
    propose: Callable[[State], State]
    when: Callable[[State], bool] = lambda _: True
    settles: Settles = Settles.NOTHING


def run(rules: Iterable[Rule], state: State) -> State:
    """Return the state after all rules."""
    state = replace(state, begun=state.schedule, fused=state.schedule)
    for rule in rules:
        if not rule.when(state):
            continue
        before = state
        with optional(rule.name, BUDGET, part=MOST):
            state = rule.propose(state)
        state = replace(state, settled=state.settled | _settled(rule.settles, before, state))
    return state


def within_budget(what: str, schedule: Schedule, stage: Callable[[Schedule], Schedule]) -> Schedule:
    """Return the result of a stage, or the schedule itself if the stage takes too long."""
    with optional(what, BUDGET, part=MOST):
        schedule = stage(schedule)
    return schedule


def _settled(what: Settles, before: State, after: State) -> frozenset[str]:
    old, new = before.schedule, after.schedule
    if what is Settles.NOTHING or (what is Settles.MARKED and new is old):
        return frozenset()
    found = frozenset[str]() if what is Settles.MARKED else new_labels(old, new)
    return found if what is Settles.NEW else found | marked(new.tree)


def new_labels(before: Schedule, after: Schedule) -> frozenset[str]:
    """Return the bands that only the later schedule has."""
    return frozenset(labels(after.tree) - labels(before.tree))


def labels(tree: Tree) -> set[str]:
    """Return the labels of all bands."""
    return {band.label for band in bands(tree)}


def marked(tree: Tree) -> frozenset[str]:
    """Return the labels of outer bands with a parallel loop at or below them."""
    return frozenset(
        label
        for label in outer_bands(tree)
        if any(
            member.kind is LoopKind.PARALLEL
            for band in bands(find_band(tree, label))
            for member in band.members
        )
    )
