"""Every kernel that is emitted for the workloads: compilers' warnings, races, the sanitizers.

In: a workload's name, its form, how it is scheduled.  Out: `Outcome`.  It is worked out by the
processes of a pool.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import polyopt as po
from bench.check import relative_error
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.ir.program import Program
from polyopt.pipeline import Compilation, compile_program
from polyopt.racecheck import Checker, Level, Race
from polyopt.racecheck.checker import Rules, has_level
from polyopt.racecheck.sanitizer import Sanitizer
from polyopt.targets import Options
from tests.machines import NARROW
from workloads import registry
from workloads.workload import Workload

WORK = 1_200_000
_TILES = ((1100, 40), (140, 40), (140, 20), (70, 40), (70, 20), (40, 20), (20, 20), (20, 8))
_LANES = ((36, 20), (20, 20), (20, 4), (12, 4))
"""What sizes are raised to, and the number of time steps, the first that is not too much work."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the suite: `build` is "auto" or "source"."""

    workload: str
    form: str
    build: str

    def __str__(self) -> str:
        return f"{self.workload}-{self.form}-{self.build}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    `longest` trip count of a loop that was run in parallel, by level; levels that the text has not
    are absent.  `error`: the results' largest one, against `bound`.  `reports` of the sanitizers.
    """

    warnings: str
    races: tuple[Race, ...]
    longest: Mapping[Level, int]
    reports: tuple[str, ...]
    error: float
    bound: float


CASES = tuple(
    Case(w.name, form, schedule)
    for w in registry.all()
    for form in w.forms
    for schedule in ("auto", "source")
)


SANITIZED = frozenset(CASES[::11])
"""What is run under the sanitizers too."""

_GCC = (
    "gcc", "-std=c11", "-pedantic", "-fopenmp", "-Wall", "-Wextra", "-Wconversion",
    "-Wsign-conversion", "-Wshadow", "-Wdouble-promotion", "-Wpointer-arith",
)  # fmt: skip
_CLANGS = ("clang", *(f"clang-{number}" for number in range(22, 12, -1)))
_CLANG = (
    "-std=gnu11", "-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
    "-Wno-bitwise-instead-of-logical",
)  # fmt: skip


def compile_case(case: Case) -> tuple[Compilation, Workload, dict[str, int]]:
    """Return the stages of `case`, its workload and the sizes to run it at."""
    workload = registry.get(case.workload)
    program = _program(case.workload, case.form)
    schedule = None if case.build == "auto" else "source"
    options = Options(schedule=schedule, budget=900.0)
    return compile_program(program, options, NARROW), workload, sizes_of(workload, case.form)


SPECIAL: dict[tuple[str, str], dict[str, int]] = {
    ("conv2d-nchw", "numpy"): {"K": 2, "N": 3, "C": 5, "H": 12, "W": 20, "O": 40},
    ("knn", "loops"): {"M": 12, "N": 40, "D": 33},
    ("lorenz", "numpy"): {"N": 600, "STEPS": 3},
    ("max-pool", "loops"): {"N": 2, "H": 6, "W": 8, "C": 600},
    ("trmm", "numpy"): {"M": 12, "N": 600},
    ("xorshift", "numpy"): {"STREAMS": 600, "N": 4},
    ("heat-3d", "loops"): {"TSTEPS": 16, "N": 26},
    ("heat-3d", "numpy"): {"TSTEPS": 16, "N": 26},
}
"""Sizes of kernels whose loops need one long dimension to have several iterations."""


def sizes_of(workload: Workload, form: str) -> dict[str, int]:
    """Return the largest of some sizes that do not take long.

    More than one tile of each kind; where that is too much, more iterations than lanes.
    """
    if (workload.name, form) in SPECIAL:
        return SPECIAL[workload.name, form]
    mini = workload.at("MINI")
    floors, most = (_TILES, 40) if workload.suite == "polybench" else (_LANES, 3)
    for floor, steps in floors:
        sizes = {
            name: max(size, steps if name == workload.steps else min(floor, most * size) + number)
            for number, (name, size) in enumerate(mini.items())
        }
        if workload.flops(sizes) <= WORK:
            return sizes
    return mini


@cache
def _program(name: str, form: str) -> Program:
    """Return what the front end makes of a workload called with its own arguments."""
    function = registry.get(name).forms[form]
    kernel = po.kernel(function)
    found: dict[tuple[ArgType, ...], Program] = {}

    def signature_of(types: tuple[ArgType, ...]) -> Any:
        if types not in found:
            found[types] = build(function, types)
        return found[types].signature

    types, values = kernel._example((), registry.get(name).make("MINI", seed=3))
    return found[kernel._settle_types(types, values, signature_of)]


def work_in(directory: str) -> None:
    """Keep what this process writes in `directory`."""
    tempfile.tempdir = directory


@cache
def _checker() -> Checker:
    return Checker()


@cache
def _sanitizer() -> Sanitizer:
    return Sanitizer()


def find_clang() -> str | None:
    """Return the name of the newest clang that is installed."""
    return next((name for name in _CLANGS if shutil.which(name) is not None), None)


def warnings_of(text: str, clang: str | None = None) -> str:
    """Return what `clang`, or gcc where it is None, says of C text."""
    command = _GCC if clang is None else (clang, *_CLANG)
    line = [*command, "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(line, input=text, capture_output=True, text=True, check=False)
    return done.stderr


def check_case(case: Case) -> Outcome:
    """Compile `case` and run it under the race check, some cases under the sanitizers too."""
    stages, workload, sizes = compile_case(case)
    source = stages.source
    levels = [level for level in Level if has_level(source.text, level)]
    warnings = warnings_of(source.text)
    races: list[Race] = []
    longest: dict[Level, int] = {}
    reports: tuple[str, ...] = ()
    error = 0.0
    if not levels and case not in SANITIZED:
        return Outcome(warnings, (), {}, (), error, error)
    arguments = workload.make(sizes, seed=3)
    want = workload.reference(arguments)
    for level in levels:
        done = _checker().check(source, tuple(arguments.values()), level, Rules(seconds=300.0))
        assert done.error is None, done.error
        races += done.races
        longest[level] = done.longest
        after = dict(zip(arguments, done.arguments, strict=True))
        error = max(error, _error(workload, after, done.returned, want))
    if case in SANITIZED:
        made = _sanitizer().run(source, tuple(arguments.values()))
        reports = made.reports
        if not reports:
            after = dict(zip(arguments, made.arguments, strict=True))
            error = max(error, _error(workload, after, made.returned, want))
    return Outcome(warnings, tuple(races), longest, reports, error, workload.bound(sizes))


def _error(workload: Workload, after: Any, returned: Any, want: Any) -> float:
    with np.errstate(all="ignore"):
        return float(relative_error(workload.results(after, returned), want))
