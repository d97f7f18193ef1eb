"""The stages: each is a process of its own, which prints a JSON object a row.

In: a stage and its seconds.  Out: `Outcome`: the rows that came in time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bench.process import ROOT

_LEAD = 8.0  # seconds before its limit that a stage is told to start nothing new
LIMIT = "POLYOPT_BENCH_UNTIL"


@dataclass(frozen=True, slots=True)
class Stage:
    """A module that is run, what it needs, and the seconds that it gets at most."""

    name: str
    module: str
    title: str
    seconds: float
    needs: str = ""
    arguments: tuple[str, ...] = ()


STAGES = (
    Stage("suite", "bench.gpu.suite", "all workloads on the GPU", 190, "cuda"),
    Stage("sanitizer", "bench.gpu.sanitizer", "compute-sanitizer", 90, "cuda"),
    Stage("bandwidth", "bench.gpu.bandwidth", "memory-bound kernels", 90, "cuda"),
    Stage("matmul", "bench.gpu.matmul", "matrix products", 90, "cuda"),
    Stage("networks", "bench.gpu.networks", "attention and convolution", 70, "cuda"),
    Stage("profile", "bench.gpu.profile", "what limits the kernels, by ncu", 60, "cuda"),
    Stage("resources", "bench.gpu.resources", "what nvcc says of the kernels", 60),
    Stage("emulated", "bench.gpu.checks", "CUDA text on the emulator", 60, "",
          ("cuda", "emulated")),
    Stage("opencl", "bench.gpu.checks", "OpenCL", 45, "opencl", ("opencl", "default")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage found; `stopped` says why it did not end by itself, or is ''."""

    stage: str
    rows: tuple[dict[str, Any], ...]
    stopped: str = ""
    seconds: float = 0.0

    @property
    def is_wrong(self) -> bool:
        """Whether something did not do what it must."""
        return bool(self.stopped) or any(row.get("wrong") for row in self.rows)


def run_stage(stage: Stage, seconds: float) -> Outcome:
    """Run a stage for so many seconds at most, with the processes that it starts."""
    begun = time.monotonic()
    environment = {**os.environ, LIMIT: str(time.time() + seconds - _LEAD)}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), environment.get("PYTHONPATH")])
    )
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            [sys.executable, "-m", stage.module, *stage.arguments],
            cwd=ROOT, env=environment, stdout=said, stderr=complained, start_new_session=True,
        )  # fmt: skip
        stopped = ""
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            stopped = f"stopped after {seconds:.0f} s"
        finally:
            _end(process)
        said.seek(0)
        rows = tuple(row for line in said if (row := _row(line)) is not None)
        complained.seek(0)
        tail = complained.read()[-600:].strip()
        if not stopped and code != 0:
            stopped = f"ended with code {code}: {tail}"
    return Outcome(stage.name, rows, stopped, time.monotonic() - begun)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a stage and of the processes it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _row(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def say(**row: Any) -> None:  # noqa: ANN401
    """Print a row of the stage that this process is."""
    print(json.dumps(row), flush=True)


def seconds_left() -> float:
    """Return how long this stage may still start something."""
    until = os.environ.get(LIMIT)
    return 1e9 if until is None else float(until) - time.time()
