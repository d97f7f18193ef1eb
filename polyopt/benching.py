"""Time a compiled kernel beside other functions, on copies of the arguments of a call.

In: a compiled kernel, arguments, what to compare with.  Out: a `Bench`: medians and spreads.
Refuses: arguments that share memory (PO0227), a name or object to compare with that cannot be
called (PO0222).
Functions take turns, so that a slow moment of the machine meets all of them.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError, UsageError
from polyopt.frontend.syntax.annotations import by_position
from polyopt.ir.program import Program
from polyopt.specialize import Parameters, plain_values
from polyopt.tuning.timing import Copies, overlap

Function = Callable[..., Any]
Against = Sequence[str | Function] | Mapping[str, Function]
LEAST, MOST = 3, 1000  # calls of each function
NOISE = 1.25  # of the quartiles' ratio: less says something, more is the machine's


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a call: the median and the quartiles of `calls`.

    `agrees`: results are the kernel's, within its contract; None of the kernel itself.
    """

    name: str
    median: float
    low: float
    high: float
    calls: int
    agrees: bool | None = None

    @property
    def is_noisy(self) -> bool:
        """Whether the machine did something else meanwhile: the quartiles are far apart."""
        return self.high > NOISE * self.low


@dataclass(frozen=True, slots=True)
class Bench:
    """Timings of a kernel, which is the first, and of what it was compared with."""

    timings: tuple[Timing, ...]

    def ratio(self, name: str) -> float:
        """Return how many times as long as the kernel a function takes."""
        median = next(one.median for one in self.timings if one.name == name)
        return median / self.timings[0].median

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.timings)
        lines = [f"{'':{width}}     median     spread  calls      ratio"]
        for one in self.timings:
            spread = f"{one.low * 1e3:.3g}-{one.high * 1e3:.3g}"
            words = [] if one.agrees in (None, True) else ["results differ"]
            words += ["noisy: repeat it on a quiet machine"] if one.is_noisy else []
            lines.append(
                f"{one.name:{width}} {one.median * 1e3:7.4g} ms {spread:>10} {one.calls:6} "
                f"{self.ratio(one.name):10.3g}  {', '.join(words)}".rstrip()
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Subject:
    """A compiled kernel, its Python function, its program, and the C compiler it was built by."""

    kernel: Function
    py_func: Function
    program: Program
    compiler: str | None


def bench(
    subject: Subject,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    against: Against,
    seconds: float,
) -> Bench:
    """Return timings of a kernel and of `against`, for about `seconds` in all."""
    values = plain_values(Parameters.of(subject.py_func).bind(args, dict(kwargs)))
    if overlap(values):
        reason = "arguments that share memory cannot be measured on copies"
        raise UsageError("PO0227", reason, hint="pass arrays of their own")
    functions: dict[str, Function] = {subject.program.name: subject.kernel}
    functions.update(_named(against, subject.py_func))
    agrees = {name: _agrees(subject, values, f) for name, f in functions.items()}
    copies = Copies(values, range(len(values)))
    times = _in_turns(functions, copies, seconds)
    return Bench(tuple(_timing(name, found, agrees[name]) for name, found in times.items()))


def _in_turns(
    functions: Mapping[str, Function], copies: Copies, seconds: float
) -> dict[str, list[float]]:
    """Return the seconds of each call; a function that takes too long is called once."""
    begun = time.perf_counter()
    times = {name: [copies.seconds(function)] for name, function in functions.items()}
    alone = {name for name, (first,) in times.items() if first > seconds}
    for name in times.keys() - alone:
        times[name].clear()  # the first call woke threads, filled caches
    for number in range(MOST):
        if number >= LEAST and time.perf_counter() - begun > seconds:
            break
        for name, function in functions.items():
            if name not in alone:
                times[name].append(copies.seconds(function))
    return times


def _timing(name: str, times: list[float], agrees: bool | None) -> Timing:
    low, median, high = (float(x) for x in np.percentile(times, (25, 50, 75)))
    return Timing(name, median, low, high, len(times), agrees)


def _agrees(subject: Subject, values: tuple[object, ...], function: Function) -> bool | None:
    """Tell whether a function gives what the kernel does, within its contract; None of itself."""
    from polyopt.bounding import compare_results
    from polyopt.numerics.results import named_results

    if function is subject.kernel:
        return None
    mine, theirs = copy.deepcopy(values), copy.deepcopy(values)
    got = named_results(subject.program, mine, subject.kernel(*mine))
    with np.errstate(all="ignore"):
        want = named_results(subject.program, theirs, function(*theirs))
    try:
        found = compare_results(subject.program, values, got, want, subject.compiler)
    except PolyoptError:
        return False
    return all(comparison.holds for comparison in found)


def _named(against: Against, py_func: Function) -> dict[str, Function]:
    """Return the functions to compare with, by name."""
    if isinstance(against, Mapping):
        pairs: list[tuple[str, object]] = list(against.items())
    elif isinstance(against, str) or not isinstance(against, Sequence):
        raise _unknown(against)
    else:
        pairs = [(_name(one), one) for one in against]
    return {name: _function(one, py_func) for name, one in pairs}


def _name(one: object) -> str:
    return one if isinstance(one, str) else str(getattr(one, "__name__", "function"))


def _function(one: object, py_func: Function) -> Function:
    match one:
        case "python" | "numpy":
            return by_position(py_func)
        case "numba":
            try:
                numba = import_module("numba")
            except ImportError:
                reason = "`against` names numba, which is not installed"
                hint = "pip install numba, or give a function"
                raise UsageError("PO0222", reason, hint=hint) from None
            return by_position(numba.njit(py_func))
        case str():
            raise _unknown(one)
        case _ if callable(one):
            return one
        case _:
            raise _unknown(one)


def _unknown(one: object) -> UsageError:
    hint = 'use a list of "python", "numpy", "numba" and functions, or a dict of functions'
    return UsageError("PO0222", f"`against` is or has {one!r}", hint=hint)
