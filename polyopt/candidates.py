"""Schedules that a kernel may choose from, each proven, with the time that the model predicts.

In: a function, its types and options, sizes.  Out: `ScheduleCandidate`s, the fastest first.
They are the automatic schedule, those that tuning begins with, and the order of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from polyopt.building import compile_stages
from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError, EmitError, ScheduleError
from polyopt.explaining import subject_of
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.pipeline import Compilation, machine_for
from polyopt.report.cost import show_time
from polyopt.report.summary import LIMITS
from polyopt.targets import Options, detect_machine
from polyopt.tuning.tune import alternative_texts


@dataclass(frozen=True, slots=True)
class ScheduleCandidate:
    """A proven schedule of a kernel, as a value for the option `schedule`.

    `text`: its steps, or "source".  `seconds`: of a call, as predicted for the sizes asked for;
    None on devices.  `limit`: what binds its slowest nest.  `loop_nest`: its loops, as text.
    `is_chosen`: whether the kernel uses it unless told otherwise.
    """

    text: str
    seconds: float | None
    limit: str
    loop_nest: str
    is_chosen: bool

    def __str__(self) -> str:
        time = "not predicted" if self.seconds is None else show_time(self.seconds)
        limit = f", bound by {self.limit}" if self.limit else ""
        chosen = " (chosen)" if self.is_chosen else ""
        steps = "; ".join(line.rstrip("; ") for line in self.text.splitlines())
        return f"{time}{limit}{chosen}: {steps}"


def candidates(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    sizes: Mapping[str, int],
) -> tuple[ScheduleCandidate, ...]:
    """Return the candidates, the least predicted time first; those refused are left out."""
    plain = replace(options, tune=None)
    stages = compile_stages(function, types, plain)
    chosen = stages.schedule_text or "source"
    texts = [chosen]
    if options.target.is_host:
        texts += alternative_texts(stages, plain, machine_for(plain, detect_machine()))
    texts.append("source")

    def all_of() -> Iterator[ScheduleCandidate]:
        yield _candidate(function, stages, plain, chosen, sizes, is_chosen=True)
        for text in dict.fromkeys(texts[1:]):
            if text == chosen:
                continue
            own = replace(plain, schedule=text)
            try:
                made = compile_stages(function, types, own)
            except (BudgetError, EmitError, ScheduleError):
                continue  # not proven in time, or not made: no candidate
            yield _candidate(function, made, own, text, sizes, is_chosen=False)

    return tuple(sorted(all_of(), key=lambda one: (one.seconds or 0.0, not one.is_chosen)))


def _candidate(
    function: Callable[..., Any],
    stages: Compilation,
    options: Options,
    text: str,
    sizes: Mapping[str, int],
    *,
    is_chosen: bool,
) -> ScheduleCandidate:
    subject = subject_of(function, stages, options, sizes)
    seconds, limit = None, ""
    if subject.is_host:
        seconds = sum(nest.seconds for nest in subject.nests)
        slowest = max(subject.nests, key=lambda nest: nest.seconds, default=None)
        name = "" if slowest is None else slowest.prediction.binding.name
        limit = LIMITS.get(name, name)
    nests = "\n".join(map(str, stages.schedules))
    return ScheduleCandidate(text, seconds, limit, nests, is_chosen)
