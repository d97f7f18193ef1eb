"""Goals run one after another, each result kept as soon as there is one.

In: goals, a stage, a folder for state.  Out: `Result`s; a run goes on where another one stopped.
"""

from __future__ import annotations

import datetime
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.gates.goals import Command, Found, Goal, Stage

ROOT = Path(__file__).resolve().parent.parent.parent
SLACK = 30.0
"""Minutes that what was begun in time may take to end."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of a goal found; seconds of the clock, and of processors."""

    goal: str
    stage: str
    asked: int
    count: int
    wrong: int
    seconds: float
    processor: float
    date: str
    note: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether as much was tried as the stage asks for."""
        return self.count >= self.asked

    @property
    def verdict(self) -> str:
        """One word."""
        if self.wrong:
            return "WRONG"
        return "met" if self.is_whole else "part"

    @property
    def rate(self) -> float:
        """How many a second."""
        return self.count / self.seconds if self.seconds else 0.0


def run_all(goals: Sequence[Goal], stage: Stage, folder: Path, minutes: float) -> Iterator[Result]:
    """Yield the result of each goal that the stage asks for; whole ones are taken from `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    known = read_results(path)
    for goal in goals:
        asked = goal.count(stage)
        if asked is None:
            continue
        before = known.get(goal.name)
        same = before is not None and asked in (before.asked, 1)  # 1: all there are
        if before is not None and same and before.is_whole and not before.wrong:
            yield before
            continue
        if before is not None and before.wrong:
            _forget(goal, folder)
        result = run_goal(goal, stage, folder, minutes)
        known[goal.name] = result
        write_results(path, known.values())
        yield result


def _forget(goal: Goal, folder: Path) -> None:
    """Remove what is kept of a goal: what was wrong then may have been mended since."""
    for number in range(len(goal.commands)):
        for suffix in (".state", ".report"):
            (folder / f"{goal.name}-{number}").with_suffix(suffix).unlink(missing_ok=True)


def run_goal(goal: Goal, stage: Stage, folder: Path, minutes: float) -> Result:
    """Run a goal's commands."""
    asked = goal.count(stage)
    assert asked is not None
    start, before = time.monotonic(), _processor()
    found = [
        _run(command, asked, folder / f"{goal.name}-{number}", minutes / len(goal.commands))
        for number, command in enumerate(goal.commands)
    ]
    return Result(
        goal.name,
        stage.value,
        max((one.asked for one in found), default=0) or asked,
        min(one.count for one in found) if len(found) > 1 else found[0].count,
        sum(one.wrong for one in found),
        round(time.monotonic() - start, 1),
        round(_processor() - before, 1),
        datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "; ".join(one.note for one in found if one.note),
    )


def _run(command: Command, count: int, base: Path, minutes: float) -> Found:
    """Run a command and read its report; one that fails without a report is one wrong."""
    report, log = base.with_suffix(".report"), base.with_suffix(".log")
    words = command.arguments.format(
        count=count, state=base.with_suffix(".state"), report=report, minutes=minutes
    )
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *words.split()], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(60.0 * (minutes + SLACK))
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as stop:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(stop, KeyboardInterrupt):
                raise
            status = -signal.SIGKILL
    try:
        found = command.read(report, log.read_text(errors="replace"))
    except (OSError, ValueError, KeyError, SyntaxError) as error:
        return Found(0, 1, f"no report, status {status} ({error}); see {log.name}"[:200])
    if status and not found.wrong:
        return Found(found.count, 1, f"status {status}; see {log.name}")
    return found


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_results(path: Path) -> dict[str, Result]:
    """Return the results in a file by goal; none where there is no file."""
    if not path.exists():
        return {}
    return {one["goal"]: Result(**one) for one in json.loads(path.read_text(encoding="utf-8"))}


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write results, so that a run that is stopped loses none."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n", encoding="utf-8")
    new.replace(path)
