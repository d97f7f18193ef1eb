"""The goals: what must hold, the command that shows it, how much of it is asked at each stage.

In: nothing.  Out: `GOALS`; `Found`, which the commands' reports are read as.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any


class Stage(Enum):
    """When a goal is asked for."""

    PULL_REQUEST = "pull-request"
    NIGHTLY = "nightly"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Found:
    """How much a command tried, how much of it was wrong, and what else it says.

    `asked` is how much there is of what is asked for as a whole, 0 where the command does not say.
    """

    count: int
    wrong: int
    note: str = ""
    asked: int = 0


Read = Callable[[Path, str], Found]
"""Reads a report, or what was printed."""


@dataclass(frozen=True, slots=True)
class Command:
    """Arguments of Python; `{count}`, `{state}`, `{report}`, `{minutes}` stand for a run's own."""

    arguments: str
    read: Read


@dataclass(frozen=True, slots=True)
class Goal:
    """What must hold of so many; `None`: not asked at that stage.  1 of tests: all of them."""

    name: str
    says: str
    unit: str
    asked: tuple[int | None, int | None, int | None]
    commands: tuple[Command, ...]

    def count(self, stage: Stage) -> int | None:
        """Return how many are asked for."""
        return dict(zip(Stage, self.asked, strict=True))[stage]


def of_record(report: Path, _: str) -> Found:
    """Read what `series`, `soak` and `resuming` write."""
    data = _json(report)
    return Found(data["count"], len(data["wrong"]), data.get("note", ""), data.get("asked", 0))


def of_pairs(report: Path, _: str) -> Found:
    """Read pairs of programs and schedules."""
    data = _json(report)
    figures = data["summary"]
    note = f"{figures['kernels run as C']} run as C, {figures['certificates open']} proofs open"
    return Found(figures["pairs"], figures["failures"], note)


def of_steps(report: Path, _: str) -> Found:
    """Read the steps of pairs: accepted and refused ones, judged by enumeration."""
    data = _json(report)
    figures = data["summary"]
    wrong = sum(f["kind"] in ("illegal step accepted", "witness not confirmed", "no witness")
                for f in data["failures"])  # fmt: skip
    note = f"{figures['false refusals of legal steps']} of legal steps refused"
    return Found(figures["steps accepted"] + figures["steps refused"], wrong, note)


def of_hostile(report: Path, _: str) -> Found:
    """Read random Python programs."""
    data = _json(report)
    return Found(len(data["seeds"]), len(data["findings"]), f"{data['outcomes']}")


def of_crashes(report: Path, _: str) -> Found:
    """Read random Python programs, as far as they end in an error without a code."""
    data = _json(report)
    wrong = sum(f["outcome"] == "crash" for f in data["findings"])
    return Found(len(data["seeds"]), wrong)


def of_mutants(_: Path, printed: str) -> Found:
    """Read the table of mutants."""
    rows = re.findall(r"^M\d+ .*$", printed, re.MULTILINE)
    return Found(len(rows), sum("SURVIVES" in row or "noisy" in row for row in rows))


def of_bombs(_: Path, printed: str) -> Found:
    """Read the last line of the bombs' table."""
    return _numbers(r"^(\d+) bombs, (\d+) not within", printed)


def of_forms(_: Path, printed: str) -> Found:
    """Read the last line about the forms of workloads on a device."""
    pattern = r"^(\d+) of (\d+) workloads in (.*); barriers: .*wrong: (\d+)$"
    match = re.search(pattern, printed, re.MULTILINE)
    if match is None:
        raise ValueError("the command does not say how many workloads")
    return Found(int(match[1]), int(match[4]), match[3], int(match[2]))


def _numbers(pattern: str, printed: str) -> Found:
    match = re.search(pattern, printed, re.MULTILINE)
    if match is None:
        raise ValueError(f"the command does not say {pattern}")
    return Found(int(match[1]), int(match[2]))


def _json(path: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


_FUZZ = "--state {state} --json {report} --minutes {minutes} --count {count}"


def _tests(words: str) -> tuple[Command, ...]:
    kept = "-p tests.gates.resuming --done {state} --figures {report} --at-most {minutes}"
    return (Command(f"-m pytest -q {kept} {words}", of_record),)


def _trials(module: str) -> tuple[Command, ...]:
    return (Command(f"-m tests.gates.{module} {_FUZZ}", of_record),)


def _hostile(target: str, read: Read) -> Command:
    words = "--jobs 2 --resume {report} --minutes {minutes} --count {count}"
    return Command(f"-m tests.hostile --target {target} {words}", read)


GOALS: tuple[Goal, ...] = (
    Goal(
        "G1",
        "random programs under random schedules compute the same, as loops and as C with OpenMP",
        "pairs", (300, 20_000, 200_000),
        (Command(f"-m tests.properties.pairs --seed 0 --shrink 1 {_FUZZ}", of_pairs),),
    ),
    Goal(
        "G2",
        "random Python programs: Python, C with one and two threads and emulated CUDA agree",
        "programs", (50, 2_000, 20_000),
        (_hostile("c", of_hostile), _hostile("emulator", of_hostile)),
    ),
    Goal(
        "G3",
        "every kernel of the workloads for devices has the barriers that it needs",
        "workloads", (None, 1, 1),
        (Command("-m tests.gpu.standing --jobs 2 --minutes {minutes}", of_forms),),
    ),
    Goal(
        "G4", "every planted fault of the compiler is seen by the layers that should see it",
        "faults", (1, 1, 1), (Command("-m tests.mutants", of_mutants),),
    ),
    Goal(
        "G5", "no illegal step is accepted, every refusal has a true example",
        "steps", (2_000, 100_000, 1_000_000),
        (Command(f"-m tests.properties.pairs --seed 1 --no-compile --shrink 1 {_FUZZ}",
                 of_steps),),
    ),
    Goal(
        "G6", "all sizes around tiles and lanes, strides of both signs, arguments that overlap",
        "tests", (1, 1, 1),
        _tests("tests/regress tests/unit/frontend/test_layouts.py tests/unit/runtime/"
               "test_wrapper.py tests/unit/emit/test_partial_vectors.py"),
    ),
    Goal(
        "G7", "every workload in every form computes what Python does",
        "tests", (1, 1, 1), _tests("tests/semantics/test_workloads.py"),
    ),
    Goal(
        "G8", "killed or interrupted, a process leaves whole files, and Ctrl-C ends it in a second",
        "kills", (20, 2_000, 10_000), (*_trials("kills"), *_trials("interrupts")),
    ),
    Goal(
        "G9", "32 processes of 8 threads compile the same kernels at once on an empty cache",
        "rounds", (1, 100, 500), _trials("races"),
    ),
    Goal(
        "G10", "a damaged or forged cache entry is a miss once, and is replaced",
        "tests", (1, 1, 1),
        _tests("tests/unit/runtime/test_hostile_entries.py tests/unit/runtime/test_store.py"),
    ),
    Goal(
        "G11", "programs made to keep a compiler busy end within their budget",
        "programs", (1, 1, 1), (Command("-m tests.bombs --jobs 2", of_bombs),),
    ),
    Goal(
        "G12", "a pipeline that runs out of isl operations ends in a coded error or proven loops",
        "quotas", (100, 1_500, 60_000), _trials("quotas"),
    ),
    Goal(
        "G13", "no warning of a compiler, no report of a sanitizer, no race",
        "tests", (1, 1, 1), _tests("tests/race"),
    ),
    Goal(
        "G14", "every process emits the same text: 5 seeds of hashes, 2 directories",
        "workloads", (2, 20, 100), _trials("repeats"),
    ),
    Goal(
        "G15", "hostile names, paths, flags and files put nothing into texts, files or commands",
        "tests", (1, 1, 1), _tests("tests/security"),
    ),
    Goal(
        "G16", "many compilations and calls in one process: no memory, no file is kept",
        "kernels", (150, 5_000, 50_000),
        (Command("-m tests.gates.soak --count {count} --json {report} --minutes {minutes}",
                 of_record),),
    ),
    Goal(
        "G17", "no random program ends in an error without a code",
        "programs", (500, 100_000, 1_000_000), (_hostile("interp", of_crashes),),
    ),
    Goal(
        "G18", "the smallest program of every wrong result that was mended computes the right one",
        "tests", (1, 1, 1), _tests("tests/regress"),
    ),
)  # fmt: skip
