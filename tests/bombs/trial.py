"""Run bombs, each in a process of its own, under limits of time and memory.

In: bombs, a budget in seconds.  Out: what became of each: a kernel that computes what Python does,
an error with a code, or what must not happen.
"""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.runtime.waiting import PATIENCE
from tests.bombs.bomb import Bomb

PRELOADED = (
    "polyopt.api",
    "polyopt.pipeline",
    "polyopt.frontend.reader.pyfunc",
    "tests.bombs.trial",
)
MEMORY = 3 << 30  # bytes of address space: a child that wants more ends in `MemoryError`


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a bomb: `kernel`, `error` with a code, or `fault`.

    `memory` and `compiler_memory` are the most that the process, and the C compiler, held, in MB.
    """

    name: str
    kind: str
    text: str
    seconds: float
    memory: int
    compiler_memory: int

    def is_good(self, limit: float, memory: int) -> bool:
        """Tell whether it ended as it should, within limits of seconds and MB."""
        most = max(self.memory, self.compiler_memory)
        return self.kind != "fault" and self.seconds <= limit and most <= memory


def processor_seconds() -> float:
    """What this process and the compilers that it waited for have used."""
    return sum(os.times()[:4])


def explode(bomb: Bomb, budget: float, folder: Path) -> Outcome:
    """Compile a bomb and run what comes of it."""
    import polyopt as po

    function = bomb.function(folder)
    made = eval(f"({bomb.arguments},)", {"np": np, "rng": np.random.default_rng(1)})
    start = processor_seconds()
    try:
        compiled = po.kernel(function, schedule=bomb.schedule, budget=budget).compile(*made)
        seconds = processor_seconds() - start
        dropped = compiled.stages.dropped
        text = f"{len(compiled.source)} bytes" + (
            f" without {', '.join(dict.fromkeys(d.what for d in dropped))}" if dropped else ""
        )
        kind = "kernel"
        if bomb.runs and not agrees(compiled, function, made):
            kind, text = "fault", "another result than Python's"
    except po.PolyoptError as error:
        seconds = processor_seconds() - start
        kind, text = "error", f"{error.code} {error.message}"
    except BaseException:
        seconds = processor_seconds() - start
        kind, text = "fault", traceback.format_exc(limit=-3)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    compiler = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return Outcome(bomb.name, kind, text, seconds, own, compiler)


def agrees(compiled: Any, function: Any, made: tuple[Any, ...]) -> bool:
    """Tell whether a kernel gives what the Python function gives; a coded refusal agrees."""
    from polyopt import PolyoptError

    ours, theirs = copy.deepcopy(made), copy.deepcopy(made)
    with np.errstate(all="ignore"):
        expected = function(*theirs)
    try:
        found = compiled(*ours)
    except PolyoptError:
        return True
    pairs = [(found, expected), *zip(ours, theirs, strict=True)]
    return all(
        one is None or np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)
        for one, other in pairs
    )


def run_all(bombs: Iterable[Bomb], budget: float, jobs: int, limit: float) -> Iterator[Outcome]:
    """Yield what becomes of each bomb, in order; `limit`: seconds of each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda bomb: _in_process(context, bomb, budget, limit), bombs)


def _in_process(context: Any, bomb: Bomb, budget: float, limit: float) -> Outcome:
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(bomb, budget, theirs, dict(os.environ)))
    child.start()
    theirs.close()
    try:
        found = None
        with contextlib.suppress(EOFError):
            found = ours.recv() if _answers(ours, child.pid, limit) else None
    finally:
        child.kill()
        child.join()
    if found is None:
        text = f"ended by signal or still running after {limit:g} s"
        return Outcome(bomb.name, "fault", text, limit, 0, 0)
    assert isinstance(found, Outcome)
    return found


def _answers(pipe: Connection, process: int, limit: float) -> bool:
    """Wait for an answer while the process has used less than `limit` seconds of processors.

    One that waits, since other programs use the machine, may take `PATIENCE` times as long.
    """
    end = time.monotonic() + PATIENCE * limit
    while not pipe.poll(1.0):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        if used > limit or time.monotonic() > end:
            return False
    return True


def _child(bomb: Bomb, budget: float, answer: Connection, environment: Mapping[str, str]) -> None:
    os.environ.clear()  # what forks was started earlier
    os.environ.update(environment)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer.send(explode(bomb, budget, Path(folder)))
