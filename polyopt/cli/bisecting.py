"""Find the first step of a schedule after which a result leaves its contract.

In: the steps, a way to run the kernel after the first so many of them.  Out: `Search`.
Each prefix runs in a process of its own: it may crash, or run out of time.
The child process that makes one run is here, too.
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

from polyopt.cli.inputs import restored
from polyopt.dataclass import asdict, dataclass, replace
from polyopt.errors import IllegalSchedule, PolyoptError, ScheduleError, ToolchainError
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
        [sys.executable, "-m", "polyopt.cli.bisecting"],
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


@dataclass(frozen=True, slots=True)
class Request:
    """What to run; `schedule` is a text, `results` and `report` are files to write."""

    target: str
    types: str | None
    sizes: str | None
    seed: int
    npz: str | None
    fp: str | None
    threads: int | None
    schedule: str
    results: str
    report: str

    def to_json(self) -> str:
        """Return the request as text."""
        return json.dumps(asdict(self))


def values_of(request: Request) -> tuple[Any, tuple[Any, ...]]:
    """Return the loaded target and the values it is called with."""
    from polyopt.cli.prepare import target_and_values

    return target_and_values(
        request.target, request.types, request.sizes, request.npz, request.seed
    )


def kernel_of(request: Request, target: Any) -> Any:  # noqa: ANN401
    """Return the kernel that the request asks for."""
    import polyopt
    from polyopt.cli.prepare import make_options

    given = {"fp": request.fp, "threads": request.threads, "schedule": request.schedule}
    options = make_options(target.kernel, **given)
    return polyopt.kernel(
        fp=options.fp.value,
        threads=options.threads,
        schedule=options.schedule,
        compiler=options.compiler,
    )(target.func)


def carry_out(request: Request) -> None:
    """Run the request; raises what the compiler or the kernel raises."""
    import numpy as np

    from polyopt.numerics.results import named_results

    target, values = values_of(request)
    compiled = kernel_of(request, target).compile(*values)
    returned = compiled(*values)
    found = named_results(compiled.program, values, returned)
    with Path(request.results).open("wb") as stream:
        np.savez(stream, allow_pickle=False, **found)


def main() -> None:
    """Serve the request on standard input."""
    request = Request(**json.load(sys.stdin))
    report: dict[str, object]
    try:
        carry_out(request)
        report = {"kind": "done"}
    except PolyoptError as error:
        report = {"kind": _kind(error), "code": error.code, "text": error.message}
    except Exception as error:  # what the program raises of its own is a result, too
        report = {"kind": "raised", "code": "", "text": f"{type(error).__name__}: {error}"}
    Path(request.report).write_text(json.dumps(report), encoding="utf-8")


def _kind(error: PolyoptError) -> str:
    match error:
        case IllegalSchedule() | ScheduleError():
            return "refused"
        case ToolchainError():
            return "failed"
        case _:
            return "raised"


if __name__ == "__main__":
    main()
