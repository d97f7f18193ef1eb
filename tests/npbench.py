"""Compile every program of an NPBench checkout and compare its results with NumPy's.

In: the path of a checkout of https://github.com/spcl/npbench.  Out: one line for each program and
a summary; exit status 1 where a program is wrong, or fails other than by a coded refusal.

    python -m tests.npbench PATH [--only NAME] [--preset S] [--mode strict|reassociate] [--json F]

Programs are taken as they are: the NumPy form of each is a kernel, called with the inputs that its
own initialization makes.  Integers must be equal.  Floats may differ by a number of units in the
last place of the largest element, or, where the program itself magnifies errors, by a multiple of
what NumPy's own results change by when the inputs do by some units in the last place.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import inspect
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.numerics.compare import plain

SMALLER: Mapping[str, Mapping[str, object]] = {
    "adi": {"N": 60, "TSTEPS": 10},
    "crc16": {"N": 400},
    "cholesky": {"N": 80},
    "lu": {"N": 60},
    "ludcmp": {"N": 60},
    "nussinov": {"N": 40},
    "seidel_2d": {"TSTEPS": 4, "N": 60},
    "stockham_fft": {"K": 10},
    "symm": {"M": 30, "N": 40},
    "trmm": {"M": 40, "N": 50},
}
"""Parameters below those of the smallest preset, where NumPy takes long."""

FACTOR = 2.0**14
"""Strict results may differ by this many units in the last place of the largest element."""

REASSOCIATED = 2.0**20

PERTURBED = 64
"""By so many units in the last place inputs are changed, at most, and by so many times what
results change by may they differ."""

SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program; times in seconds, `ratio` NumPy's over the kernel's."""

    name: str
    status: str
    detail: str = ""
    first: float = 0.0
    numpy: float = 0.0
    warm: float = 0.0

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy a warm call is."""
        return self.numpy / self.warm if self.warm else 0.0

    def line(self) -> str:
        """Return the outcome as a line of the table."""
        if self.status == "ok":
            times = f"first {self.first:6.2f} s  ratio {self.ratio:8.2f}"
            return f"{self.name:26} {self.status:8} {times}  {self.detail}"
        return f"{self.name:26} {self.status:8} {self.detail}"


@dataclass(frozen=True)
class Program:
    """A program of the collection: its description and the folder of its modules."""

    path: Path
    info: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the description's file."""
        return self.path.stem

    def _module(self, suffix: str) -> Any:
        place = self.info["relative_path"].replace("/", ".")
        module = self.info["module_name"]
        return importlib.import_module(f"npbench.benchmarks.{place}.{module}{suffix}")

    def function(self) -> Callable[..., Any]:
        """Return the program in NumPy."""
        found: Callable[..., Any] = getattr(self._module("_numpy"), self.info["func_name"])
        return found

    def arguments(self, preset: str) -> list[Any]:
        """Return the arguments of a call with the parameters of a preset."""
        smaller = SMALLER.get(self.name, {}) if preset == "S" else {}
        data: dict[str, Any] = {**self.info["parameters"][preset], **smaller}
        init = self.info.get("init")
        if init:
            make = getattr(self._module(""), init["func_name"])
            made = make(*(data[name] for name in init["input_args"]))
            names = init["output_args"]
            parts = [made] if len(names) == 1 else made
            data |= dict(zip(names, parts, strict=True))
        return [data[name] for name in self.info["input_args"]]


def programs(checkout: Path) -> list[Program]:
    """Return the programs that the checkout describes, by name."""
    found = sorted((checkout / "bench_info").glob("*.json"))
    return [Program(path, json.loads(path.read_text())["benchmark"]) for path in found]


def run(program: Program, preset: str, mode: str) -> Outcome:
    """Run one program both ways."""
    try:
        function, arguments = program.function(), program.arguments(preset)
    except ImportError as error:
        return Outcome(program.name, "needs", str(error))
    theirs = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        want = function(*theirs)
    mine = copy.deepcopy(arguments)
    kernel = po.kernel(fp=mode)(function)
    start = time.perf_counter()
    try:
        got = kernel(*mine)
    except PolyoptError as error:
        place = f"{error.loc.line}:{error.loc.col} " if error.loc else ""
        return Outcome(program.name, "refused", f"{error.code} {place}{error.message}")
    except Exception:
        return Outcome(program.name, "error", traceback.format_exc().strip().splitlines()[-1])
    first = time.perf_counter() - start
    factor = FACTOR if mode == "strict" else REASSOCIATED
    names = _names(function)
    found, wanted = _named(names, got, mine), _named(names, want, theirs)
    wrong = _differences(found, wanted, factor, {})
    if wrong:
        wrong = _differences(found, wanted, factor, _sensitivity(function, arguments, wanted))
    if wrong:
        return Outcome(program.name, "wrong", "; ".join(wrong), first)
    numpy_time = _best(function, arguments)
    return Outcome(program.name, "ok", "", first, numpy_time, _best(kernel, arguments))


def _named(names: Sequence[str], result: object, arguments: Sequence[object]) -> dict[str, object]:
    """Return results and arguments, a tuple's parts one by one, by name."""
    parts = result if isinstance(result, tuple | list) else (result,)
    named = {f"result {n}": part for n, part in enumerate(parts)}
    return named | dict(zip(names, arguments, strict=False))


def _sensitivity(
    function: Callable[..., Any], arguments: Sequence[Any], wanted: Mapping[str, object]
) -> dict[str, float]:
    """Return how far results move when inputs are changed by a few units in the last place."""
    moved: dict[str, float] = {}
    rng = np.random.default_rng(7)
    for _ in range(3):
        given = [_perturbed(value, rng) for value in copy.deepcopy(arguments)]
        with np.errstate(all="ignore"):
            result = function(*given)
        for name, value in _named(_names(function), result, given).items():
            other = wanted[name]
            if isinstance(other, np.ndarray | np.inexact) and plain(other).dtype.kind in "fc":
                with np.errstate(all="ignore"):
                    gap = np.abs(plain(value) - plain(other))
                step = float(gap[np.isfinite(gap)].max(initial=0.0))
                moved[name] = max(moved.get(name, 0.0), step)
    return moved


def _perturbed(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        eps = float(np.finfo(value.dtype).eps)
        steps = rng.integers(-PERTURBED, PERTURBED + 1, value.shape)
        return (value * (1 + eps * steps)).astype(value.dtype)
    return value * (1 + PERTURBED * 2.0**-52) if isinstance(value, float) else value


def _names(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _best(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    """Return the shortest of several calls on copies of the arguments."""
    best, spent, calls = np.inf, 0.0, 0
    while (spent < SECONDS and calls < 50) or calls < 2:
        given = copy.deepcopy(arguments)
        with np.errstate(all="ignore"):
            start = time.perf_counter()
            result = function(*given)
            took = time.perf_counter() - start
        del result
        best, spent, calls = min(best, took), spent + took, calls + 1
        if took > SECONDS:
            break
    return float(best)


def _differences(
    found: Mapping[str, object],
    wanted: Mapping[str, object],
    factor: float,
    sensitivity: Mapping[str, float],
) -> list[str]:
    """Return what differs between two sets of results."""
    if len(found) != len(wanted):
        return [f"{len(found)} results for {len(wanted)}"]
    pairs = ((n, found[n], wanted[n], sensitivity.get(n, 0.0)) for n in wanted)
    texts = ((n, _difference(one, other, factor, moves)) for n, one, other, moves in pairs)
    return [f"{name}: {text}" for name, text in texts if text]


def _difference(got: object, want: object, factor: float, moves: float) -> str:
    """Return what differs between two values; nothing where they agree."""
    if want is None or isinstance(want, str):
        return "" if got == want else f"{got!r} for {want!r}"
    if not isinstance(want, np.ndarray | np.generic | bool | int | float | complex):
        return ""  # an argument that is no data, as a generator of random numbers
    left, right = plain(got), plain(want)
    if left.shape != right.shape or left.dtype != right.dtype:
        return f"{left.dtype}{list(left.shape)} for {right.dtype}{list(right.shape)}"
    if left.dtype.kind not in "fc":
        count = int((left != right).sum())
        return f"{count} of {left.size} elements differ" if count else ""
    finite = np.isfinite(right)
    same = np.array_equal(left[~finite], right[~finite], equal_nan=True)
    if not same or (np.isfinite(left) != finite).any():
        return "infinities or NaN differ"
    error = float(np.abs(left[finite] - right[finite]).max(initial=0.0))
    scale = float(np.abs(right[finite]).max(initial=0.0))
    bound = factor * float(np.finfo(left.dtype).eps) * scale + PERTURBED * moves
    return f"error {error:.3g} of {scale:.3g}" if error > bound else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.npbench", description=__doc__)
    parser.add_argument("path", type=Path, help="a checkout of NPBench")
    parser.add_argument("--only", action="append", help="a program's name; may be repeated")
    parser.add_argument("--preset", default="S", choices=("S", "M", "L", "paper"))
    parser.add_argument("--mode", default="strict", choices=("strict", "reassociate"))
    parser.add_argument("--json", type=Path, help="a file for the outcomes")
    options = parser.parse_args(argv)
    sys.path.insert(0, str(options.path))
    chosen = [p for p in programs(options.path) if not options.only or p.name in options.only]
    outcomes: list[Outcome] = []
    for program in chosen:
        outcomes.append(run(program, options.preset, options.mode))
        print(outcomes[-1].line(), flush=True)
    right = sum(outcome.status == "ok" for outcome in outcomes)
    print(f"{right} of {len(outcomes)} right")
    if options.json:
        options.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1) + "\n")
    return int(any(outcome.status in ("wrong", "error") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
