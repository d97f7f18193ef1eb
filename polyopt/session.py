"""A session in which a kernel's schedule is made step by step: `with kernel.schedule() as s`.

In: a program, options, what takes the finished schedule.  Out: `KernelSchedule`, `Session`.
Refuses: each step that is not legal or does not apply, at once, with what its text is refused with.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from polyopt import targets
from polyopt.dataclass import dataclass, fields, replace
from polyopt.errors import Loc, ScheduleError
from polyopt.ir.program import Program
from polyopt.pipeline import choose_schedules, machine_for, only_schedule, prepared
from polyopt.schedule import Schedule, Transform
from polyopt.schedulefile import NOWHERE, nearest
from polyopt.targets import Options
from polyopt.transforms.text import STEPS, parse_schedules, show_schedules


class UnknownStepError(ScheduleError, AttributeError):
    """A session has no such step."""


class StepMethod(Protocol):
    """A step of the schedule language as a method of a session."""

    def __call__(self, *words: Any) -> Session:  # noqa: ANN401 - names, numbers, tuples of these
        """Take the step; raises `ScheduleError`, `IllegalSchedule`."""


class Session:
    """A schedule that steps are added to; printed, it is the loop nest after them.

    Each step of the schedule language is a method: `s.tile("L0", 32, 32)`, `s.parallelize("i")`.
    Words are names and numbers, or tuples of these; `s.part(1)` says that what follows is for
    another static control part.  A step is proven when it is taken; one that is refused raises
    `IllegalSchedule` or `ScheduleError` and leaves the schedule as it was.
    """

    def __init__(self, schedules: tuple[Schedule, ...]) -> None:
        self._history = [schedules]
        self._part = 0

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The proven schedules, one for each static control part."""
        return self._history[-1]

    @property
    def text(self) -> str:
        """The steps in the schedule language."""
        return show_schedules(self.schedules)

    def apply(self, text: str) -> Session:
        """Take the steps of a text in the schedule language; raises as they do one by one."""
        return self._take(f"part({self._part}); {text}" if self._part else text)

    def part(self, number: int) -> Session:
        """Turn to a static control part by its number; raises `ScheduleError` PO0324."""
        self._take(f"part({number})")
        if not 0 <= number < len(self.schedules):
            raise ScheduleError(
                "PO0324",
                f"there is no static control part {number}",
                loc=_caller(),
                hint=f"parts are numbered from 0 to {len(self.schedules) - 1}",
            )
        self._part = number
        return self

    def undo(self, count: int = 1) -> Session:
        """Take back the last `count` calls; `ScheduleError` PO0309 if there are fewer."""
        left = len(self._history) - 1 - count
        if count < 0 or left < 0:
            taken = len(self._history) - 1
            raise ScheduleError(
                "PO0309",
                f"{count} steps cannot be undone: {taken} were taken",
                loc=_caller(),
                hint=f"give a number from 0 to {taken}",
            )
        del self._history[left + 1 :]
        return self

    def __getattr__(self, name: str) -> StepMethod:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in STEPS:
            near = nearest(name, STEPS)
            hint = f"did you mean `{near}`? " if near else ""
            raise UnknownStepError(
                "PO0322",
                f"there is no step `{name}`",
                loc=_caller(),
                hint=f"{hint}steps: {', '.join(STEPS)}",
            )
        return lambda *words: self.apply(f"{name}({', '.join(_shown(words))})")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *STEPS})

    def _take(self, text: str) -> Session:
        try:
            self._history.append(parse_schedules(self.schedules, text))
        except ScheduleError as error:
            if error.loc is None or error.loc.file == NOWHERE:
                error.loc = _caller()
            raise
        return self

    def __str__(self) -> str:
        return _nests(self.schedules)

    def __repr__(self) -> str:
        return f"<Session, {len(self._history) - 1} steps>\n{self}"


@dataclass(frozen=True, eq=False)
class KernelSchedule(Schedule):
    """The schedule of a kernel; `with` opens a `Session`, at whose end the kernel takes it.

    A session begins with the source's order.  If its block raises, the kernel stays as it was.
    """

    __repr__ = Schedule.__repr__

    begin: Callable[[], tuple[Schedule, ...]] | None = None
    take: Callable[[str], None] | None = None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules of the static control parts: this one."""
        return (self,)

    def __enter__(self) -> Session:
        assert self.begin is not None
        object.__setattr__(self, "_session", Session(self.begin()))
        session: Session = self._session  # type: ignore[attr-defined]
        return session

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None and self.take is not None:
            self.take(self._session.text or "source")  # type: ignore[attr-defined]


class _PartSchedules(KernelSchedule):
    """The schedules of several static control parts, which a session makes together.

    What belongs to one schedule alone raises `ScheduleError` PO0325.
    """

    def __init__(
        self,
        program: Program,
        schedules: tuple[Schedule, ...],
        begin: Callable[[], tuple[Schedule, ...]],
        take: Callable[[str], None],
    ) -> None:
        own = {"_program": program, "_schedules": schedules, "begin": begin, "take": take}
        vars(self).update(own)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules of the static control parts."""
        found: tuple[Schedule, ...] = self._schedules
        return found

    @property
    def trace(self) -> tuple[Transform, ...]:
        """The steps of one schedule."""
        return only_schedule(self._program, self.schedules).trace

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the one schedule has it
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(only_schedule(self._program, self.schedules), name)

    def __str__(self) -> str:
        return _nests(self.schedules)

    def __repr__(self) -> str:
        return f"<KernelSchedule, {len(self.schedules)} parts>\n{self}"


def scheduled(program: Program, options: Options, take: Callable[[str], None]) -> KernelSchedule:
    """Return the schedules that `options` choose; `take` gets the text of a finished session."""

    def chosen(options: Options) -> tuple[Program, tuple[Schedule, ...]]:
        settled = prepared(program, options)
        machine = machine_for(options, targets.detect_machine())
        return settled, choose_schedules(settled, options, machine)

    def begin() -> tuple[Schedule, ...]:
        return chosen(replace(options, schedule="source"))[1]

    settled, found = chosen(options)
    if len(found) != 1:
        return _PartSchedules(settled, found, begin, take)
    known: dict[str, Any] = {f.name: getattr(found[0], f.name) for f in fields(found[0])}
    return KernelSchedule(**known, begin=begin, take=take)


def _nests(schedules: tuple[Schedule, ...]) -> str:
    if len(schedules) == 1:
        return str(schedules[0])
    return "\n".join(f"-- part({n})\n{one}" for n, one in enumerate(schedules))


def _shown(words: tuple[object, ...]) -> list[str]:
    """Return the words of a step as its text has them; tuples and lists are several words."""
    found: list[str] = []
    for word in words:
        found += _shown(tuple(word)) if isinstance(word, tuple | list) else [str(word)]
    return found


def _caller() -> Loc | None:
    """Return the line that called into this module."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return None
    return Loc(frame.f_code.co_filename, frame.f_lineno, 1, frame.f_lineno, 1)
