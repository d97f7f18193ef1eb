"""`polyopt bisect FILE.py:FUNC --schedule FILE`: name the step that makes a result wrong.

In: a target, a schedule.  Out: the runs and the step to blame; exit 0: all hold, 1: a step is
refused, 3: a step does not compile, 4: a step makes a result wrong, crash or hang.
Refuses: values that do not fit the function.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.exits import Exit
from polyopt.cli.prepare import (
    json_option,
    schedule_options,
    sizes_option,
    target_argument,
    types_option,
    values_options,
)
from polyopt.dataclass import dataclass
from polyopt.errors import KernelFault, PolyoptError

if TYPE_CHECKING:
    from polyopt.cli.bisecting import Search, Trial
    from polyopt.cli.load import Target
    from polyopt.compiled import CompiledKernel
    from polyopt.numerics.compare import Comparison
    from polyopt.transforms.text import PlacedStep


@click.command("bisect")
@target_argument
@values_options
@click.option("--limit", type=click.FloatRange(min=0.1), default=60.0, help="Seconds a run.  [60]")
@click.option("--every", is_flag=True, help="Try the steps one after the other, do not halve.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; all cores otherwise.")
@click.option("--fp", type=click.Choice(["strict", "reassociate", "fast"]), help="As for `run`.")
@schedule_options
@types_option
@sizes_option
@json_option
def command(
    target: str,
    npz: str | None,
    seed: int,
    limit: float,
    every: bool,
    threads: int | None,
    fp: str | None,
    schedule: str | None,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> int:
    """Name the first step of a schedule after which a result is wrong."""
    from polyopt.cli.bisecting import Request, kernel_of, run_prefix, search, values_of

    request = Request(target, types, sizes, seed, npz, fp, threads, "source", "", "")
    loaded, values = values_of(request)
    compiled = kernel_of(request, loaded).compile(*values)
    steps = _steps(loaded, compiled, schedule)
    accepted, refusal = _accepted(compiled, steps)
    judge = _Judge.of(loaded, compiled, values)
    with tempfile.TemporaryDirectory(prefix="polyopt-bisect-") as name:
        folder = Path(name)
        found = search(
            accepted,
            lambda count: run_prefix(request, steps[:count], judge.compare, limit, folder),
            every=every,
        )
    report = _Report(loaded.name, steps, found, refusal)
    if as_json:
        result_json(report.record())
    else:
        result("\n".join(report.lines()))
    return report.code


def _steps(
    loaded: Target, compiled: CompiledKernel, schedule: str | None
) -> tuple[PlacedStep, ...]:
    """Return the steps of the schedule; the automatic one where none is given."""
    from polyopt.pipeline import compile_program
    from polyopt.targets import detect_machine
    from polyopt.transforms.text import read_steps

    text = schedule
    if text is None:
        text = getattr(getattr(loaded.kernel, "options", None), "schedule", None)
    if text is None:
        automatic = compiled.options.changed({"schedule": None})
        made = compile_program(compiled.program, automatic, detect_machine())
        text = made.schedule_text
    return () if text == "source" else read_steps(text)


def _accepted(
    compiled: CompiledKernel, steps: Sequence[PlacedStep]
) -> tuple[int, PolyoptError | None]:
    """Return how many of the steps are legal in their order, and why the next one is refused."""
    from polyopt.transforms.text import apply_placed, parse_schedules

    schedules = list(compiled.schedules)
    for count, placed in enumerate(steps):
        try:
            if placed.part >= len(schedules):
                parse_schedules(tuple(schedules), f"part({placed.part}); {placed.step}")
            schedules[placed.part] = apply_placed(schedules[placed.part], placed)
        except PolyoptError as error:
            return count, error
    return len(steps), None


@dataclass(frozen=True, eq=False)
class _Judge:
    """The reference's results and what each may differ by."""

    want: Mapping[str, Any]
    bounds: Mapping[str, Any]

    @classmethod
    def of(cls, loaded: Target, compiled: CompiledKernel, values: tuple[Any, ...]) -> _Judge:
        import numpy as np

        from polyopt.bounding import known_bounds
        from polyopt.frontend.syntax.annotations import by_position
        from polyopt.numerics.results import named_results

        program = compiled.program
        own = copy.deepcopy(values)
        try:
            with np.errstate(all="ignore"):
                returned = by_position(loaded.func)(*own)
        except Exception as error:
            raise KernelFault(
                "PO0236",
                f"`{loaded.name}` raised {type(error).__name__}: {error}",
                hint="pass values that it takes, with --npz, or choose other sizes",
            ) from error
        want = named_results(program, own, returned)
        return cls(want, known_bounds(program, values, want, compiled.options.compiler))

    def compare(self, got: Mapping[str, Any]) -> list[Comparison]:
        from polyopt.numerics.compare import compare

        return [compare(n, got[n], value, self.bounds.get(n)) for n, value in self.want.items()]


@dataclass(frozen=True, slots=True)
class _Report:
    """What was found, for people and for programs."""

    name: str
    steps: tuple[PlacedStep, ...]
    search: Search
    refusal: PolyoptError | None

    @property
    def code(self) -> Exit:
        from polyopt.cli.bisecting import Outcome

        first = self.search.first
        if first is not None:
            return Exit.TOOLCHAIN if first.outcome is Outcome.FAILED else Exit.MISMATCH
        return Exit.OK if self.refusal is None else Exit.REJECTED

    def lines(self) -> list[str]:
        count = len(self.steps)
        runs = len(self.search.trials)
        lines = [f"{self.name}: {count} steps, {runs} of {count + 1} prefixes run"]
        lines += [
            f"  {self._label(trial.steps)}: {self._verdict(trial)}" for trial in self.search.trials
        ]
        if self.refusal is not None:
            lines.append(f"  {self._label(self._accepted() + 1)}: refused")
        return [*lines, *self._conclusion()]

    def _accepted(self) -> int:
        return max((trial.steps for trial in self.search.trials), default=0)

    def _label(self, count: int) -> str:
        if count == 0:
            return "the source's order"
        return f"step {count}, {self.steps[count - 1].step}"

    def _verdict(self, trial: Trial) -> str:
        from polyopt.cli.bisecting import Outcome

        match trial.outcome:
            case Outcome.HOLDS:
                return "holds (" + "; ".join(map(_use, trial.comparisons)) + ")"
            case Outcome.DIFFERS:
                return "differs"
            case _:
                return f"{trial.outcome.value}: {trial.detail}"

    def _conclusion(self) -> list[str]:
        from polyopt.cli.bisecting import prefix_text

        first = self.search.first
        lines = []
        if first is None and self.refusal is None:
            return ["every prefix that was run keeps the contract"]
        if first is not None:
            lines.append(self._blame(first))
            found = first.difference
            if found is not None:
                name, comparison, worst = found
                lines.append(f"  {worst.place(name)} is {worst.got}, expected {worst.want}")
                limit = "must be the same bits"
                if not comparison.is_exact:
                    limit = f"its bound is {worst.bound:.3g}"
                lines.append(f"  {limit}; {comparison.wrong} of {comparison.elements} differ")
            if first.steps:
                lines.append(f"  shown by: {prefix_text(self.steps[: first.steps])}")
        if self.refusal is not None:
            what = self._label(self._accepted() + 1)
            lines.append(f"{what}, is refused [{self.refusal.code}]: {self.refusal.message}")
        return lines

    def _blame(self, first: Trial) -> str:
        if first.steps == 0:
            return f"no step is to blame: the source's order {first.outcome.value} already"
        placed = self.steps[first.steps - 1]
        where = "" if placed.loc.file.startswith("<") else f" ({placed.loc})"
        return f"{self._label(first.steps)}, is to blame{where}"

    def record(self) -> dict[str, Any]:
        first = self.search.first
        return {
            "function": self.name,
            "steps": [str(placed.step) for placed in self.steps],
            "holds": first is None and self.refusal is None,
            "first": None if first is None else self._trial_record(first),
            "refused": None
            if self.refusal is None
            else {
                "steps": self._accepted() + 1,
                "code": self.refusal.code,
                "message": self.refusal.message,
            },
            "trials": [self._trial_record(trial) for trial in self.search.trials],
        }

    def _trial_record(self, trial: Trial) -> dict[str, Any]:
        found: dict[str, Any] = {
            "steps": trial.steps,
            "step": str(self.steps[trial.steps - 1].step) if trial.steps else None,
            "outcome": trial.outcome.name.lower(),
            "seconds": trial.seconds,
            "detail": trial.detail,
            "comparisons": [comparison.to_record() for comparison in trial.comparisons],
        }
        difference = trial.difference
        if difference is not None:
            name, _, worst = difference
            found["element"] = {
                "name": name,
                "index": None if worst.index is None else list(worst.index),
                "got": worst.got,
                "expected": worst.want,
                "bound": worst.bound,
            }
        return found


def _use(comparison: Comparison) -> str:
    if comparison.bitwise:
        return f"{comparison.name} bitwise"
    return f"{comparison.name} uses {comparison.used:.1%} of its bound"
