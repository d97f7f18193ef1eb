"""Find the first step of a schedule after which a result leaves its contract.

In: the steps, a way to run the kernel after the first so many of them.  Out: `Search`.
Each prefix runs in a process of its own: it may crash, or run out of time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, unique
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.cli.stored import restored
from polyopt.cli.trial import Request
from polyopt.dataclass import dataclass, replace
from polyopt.numerics.compare import Comparison, Difference
from polyopt.transforms.text import PlacedStep


@unique
class Outcome(Enum):
    """What became of a run."""

    HOLDS = "holds"
    DIFFERS = "differs"
    REFUSED = "refused"
    FAILED = "does not compile"
    RAISED = "raises"
    CRASHED = "crashes"
    HANGS = "runs out of time"


@dataclass(frozen=True, slots=True)
class Trial:
    """A run after the first `steps` steps."""

    steps: int
    outcome: Outcome
    seconds: float
    comparisons: tuple[Comparison, ...] = ()
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether all results are inside their contracts."""
        return self.outcome is Outcome.HOLDS

    @property
    def difference(self) -> tuple[str, Comparison, Difference] | None:
        """The first output that differs, by name, and its worst element."""
        for comparison in self.comparisons:
            if comparison.worst is not None:
                return comparison.name, comparison, comparison.worst
        return None


@dataclass(frozen=True, slots=True)
class Search:
    """All runs, in the order of their lengths; `first` is the first that does not hold."""

    trials: tuple[Trial, ...]
    first: Trial | None


FEW = 3
"""Steps that are tried one after the other."""


def search(count: int, run: Callable[[int], Trial], *, every: bool = False) -> Search:
    """Return the shortest prefix of `count` steps that does not hold while the one before does.

    All steps, no steps, then halves; with `every`, one step after the other until one fails.
    """
    trials: dict[int, Trial] = {}

    def holds(steps: int) -> bool:
        if steps not in trials:
            trials[steps] = run(steps)
        return trials[steps].holds

    def found(first: int | None) -> Search:
        ordered = tuple(trials[steps] for steps in sorted(trials))
        return Search(ordered, None if first is None else trials[first])

    if every or count <= FEW:
        return found(next((steps for steps in range(count + 1) if not holds(steps)), None))
    if holds(count):
        return found(None)
    if not holds(0):
        return found(0)
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return found(bad)


def prefix_text(steps: Sequence[PlacedStep]) -> str:
    """Return a schedule of these steps; "source" for none."""
    pieces: list[str] = []
    part = 0
    for placed in steps:
        if placed.part != part:
            part = placed.part
            pieces.append(f"part({part})")
        pieces.append(str(placed.step))
    return "; ".join(pieces) or "source"


Judge = Callable[[Mapping[str, Any]], Sequence[Comparison]]


def run_prefix(
    request: Request, steps: Sequence[PlacedStep], judge: Judge, limit: float, folder: Path
) -> Trial:
    """Run the kernel after `steps` in a child process; `judge` compares its results."""
    count = len(steps)
    results, report = folder / f"{count}.npz", folder / f"{count}.json"
    asked = replace(request, schedule=prefix_text(steps), results=str(results), report=str(report))
    started = time.perf_counter()
    status, errors = _child(asked, limit, folder / "cache")
    seconds = time.perf_counter() - started
    if status is None:
        return Trial(count, Outcome.HANGS, seconds, detail=f"stopped after {limit:g} s")
    if not report.exists():
        return Trial(count, Outcome.CRASHED, seconds, detail=_death(status, errors))
    said = json.loads(report.read_text(encoding="utf-8"))
    match said["kind"]:
        case "done":
            with np.load(results, allow_pickle=False) as found:
                compared = tuple(judge({name: restored(found[name]) for name in found.files}))
            good = all(comparison.holds for comparison in compared)
            outcome = Outcome.HOLDS if good else Outcome.DIFFERS
            return Trial(count, outcome, seconds, compared)
        case "refused":
            outcome = Outcome.REFUSED
        case "failed":
            outcome = Outcome.FAILED
        case _:
            outcome = Outcome.RAISED
    code = f"[{said['code']}] " if said["code"] else ""
    return Trial(count, outcome, seconds, detail=code + said["text"])


def _child(request: Request, limit: float, cache: Path) -> tuple[int | None, str]:
    """Return the child's exit status, None when it was stopped, and what it said on its errors.

    It builds anew: a kernel made before the fault came in must not hide it.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "polyopt.cli.trial"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "POLYOPT_CACHE_DIR": str(cache)},
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(request.to_json(), timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, errors


def _death(status: int, errors: str) -> str:
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    last = errors.strip().splitlines()[-1:] or ["without a word"]
    return f"ended with status {status}: {last[0]}"
