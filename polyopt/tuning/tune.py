"""Tune a kernel for a call: build candidates, measure them on copies, keep the best.

In: a function, its types and options, a call's values, seconds.  Out: `Tuned`.
Refuses (PO0227): targets other than C, arguments that share memory, calls that the kernel refuses.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from polyopt.building import Built, build_kernel, compile_stages
from polyopt.dataclass import replace
from polyopt.errors import PolyoptError, UsageError
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.ir.budget import Budget
from polyopt.ir.scop import Scop
from polyopt.ir.source import ArrayArg
from polyopt.machine import Machine
from polyopt.pipeline import Compilation, fits, machine_for
from polyopt.runtime.notices import PolyoptWarning
from polyopt.schedule import Schedule
from polyopt.strategy.auto import alternatives
from polyopt.targets import Options, detect_machine, seconds_to_compile
from polyopt.transforms import show_schedules
from polyopt.tuning.kept import Tuned
from polyopt.tuning.search import Candidate, Workshop, search
from polyopt.tuning.timing import Copies, overlap

SHORTEST = 1.0  # seconds: less does not build a kernel

Types = tuple[ArgType, ...]


class Bench:
    """Builds candidates of one kernel and races them on copies of one call's arguments."""

    def __init__(
        self, function: Callable[..., object], types: Types, options: Options, copies: Copies
    ) -> None:
        self.function, self.types = function, types
        self.options = replace(options, tune=None)
        self.copies = copies

    def build(self, candidate: Candidate, seconds: float) -> Built | None:
        """Return the proven kernel, or None."""
        if seconds < SHORTEST:
            return None
        budget = min(seconds, seconds_to_compile(self.options))
        options = replace(
            self.options, schedule=candidate.text, threads=candidate.threads, budget=budget
        )
        try:
            return build_kernel(self.function, self.types, options)
        except PolyoptError:
            return None  # refused, too large, or too long to build: not a candidate

    def race(self, champion: object, challenger: object) -> tuple[float, float]:
        """Return the seconds that a call of each takes."""
        assert isinstance(champion, Built)
        assert isinstance(challenger, Built)
        return self.copies.race(champion.loaded.call, challenger.loaded.call)

    def clock(self) -> float:
        """Return the time."""
        return time.monotonic()


def tune(
    function: Callable[..., object],
    types: Types,
    options: Options,
    values: tuple[object, ...],
    seconds: float,
    shop: Workshop | None = None,
) -> Tuned:
    """Return the best schedule that was found within `seconds` for a call with `values`."""
    if not options.target.is_host:
        raise _refused(f'the target is "{options.target.value}", not "c"')
    if overlap(values):
        raise _refused("arguments share memory, which their copies would not")
    begun = time.monotonic()
    plain = replace(options, tune=None)
    built = build_kernel(function, types, plain)
    arguments = enumerate(built.source.signature.arguments)
    written = [n for n, a in arguments if isinstance(a, ArrayArg) and a.written]
    copies = Copies(values, written)
    with _undisturbed():
        if built.loaded.call(*copies.values) is NotImplemented:
            raise _refused("the kernel does not take these arguments as they are")
        stages = built.stages or compile_stages(function, types, plain)
        machine = machine_for(options, detect_machine())
        start = Candidate(built.schedule_text or "source", options.threads)
        bench = shop or Bench(function, types, options, copies)
        others = [
            Candidate(text, options.threads) for text in alternative_texts(stages, plain, machine)
        ]
        left = seconds - (time.monotonic() - begun)
        found = search(start, built, others, _threads(options, machine), left, bench)
    best = found.best
    threads = best.threads if best.threads != options.threads else None
    return Tuned(best.text, threads, _sizes(built, values), found.seconds, found.before,
                 found.tried + 1)  # fmt: skip


def alternative_texts(stages: Compilation, options: Options, machine: Machine) -> list[str]:
    """Return texts of other schedules to begin with; none where the user chose one."""
    if options.schedule is not None:
        return []
    with Budget(seconds_to_compile(options)).running():
        pairs = zip(stages.program.scops, stages.schedules, strict=True)
        found = [_alternatives(stages, scop, options, machine) or (own,) for scop, own in pairs]
    longest = max((len(choices) for choices in found), default=0)
    rows = (
        tuple(choices[min(row, len(choices) - 1)] for choices in found) for row in range(longest)
    )
    return list(dict.fromkeys(show_schedules(row) or "source" for row in rows))


def _alternatives(
    stages: Compilation, scop: Scop, options: Options, machine: Machine
) -> tuple[Schedule, ...]:
    """Return schedules of a part whose temporaries take no more than the program's own arrays."""
    program = stages.program
    return tuple(s for s in alternatives(scop, machine) if fits(s, program, scop, options))


def _threads(options: Options, machine: Machine) -> tuple[int, ...]:
    """Return numbers of threads to try: fewer than all, where the user did not say how many."""
    if options.threads is not None or machine.cores == 1:
        return ()
    return tuple(dict.fromkeys((1, machine.cores // 2)))


def _sizes(built: Built, values: tuple[object, ...]) -> tuple[str, ...]:
    """Return what is told of the call: shapes of arrays, values of integers."""
    named = zip(built.source.signature.arguments, values, strict=True)
    shown = []
    for argument, value in named:
        if isinstance(value, np.ndarray):
            shown.append(f"{argument.name}={'x'.join(map(str, value.shape))}")
        elif isinstance(value, int | np.integer):
            shown.append(f"{argument.name}={value}")
    return tuple(shown)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep NumPy's random numbers, and silence warnings of candidates that took too long."""
    state = np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyoptWarning)
        try:
            yield
        finally:
            np.random.set_state(state)


def _refused(reason: str) -> UsageError:
    return UsageError(
        "PO0227",
        f"this call cannot be tuned for: {reason}",
        hint="leave `tune` out, or tune with separate arrays on the target c",
    )
