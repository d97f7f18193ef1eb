"""Many programs in processes of their own, which may crash or hang.

In: seeds, a target.  Out: `Result`s as they come.
A process that dies or takes too long costs the program that it was at, which is a finding.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.hostile.generator import generate
from tests.hostile.program import HostileProgram
from tests.hostile.stages import Compiled, Setting, emulated, interpreted
from tests.hostile.verdicts import Outcome, Verdict

SECONDS = 240.0
"""Of the processor, that one program may take."""
WAITING = 5
"""Times as many seconds of the clock may pass: a busy machine is no hang."""
BATCH = 50
MEMORY = 6 << 30
"""Bytes of address space that a process may have."""


@dataclass(frozen=True, slots=True)
class Task:
    """Seeds that one process does together, and how; `seconds` that each program may take."""

    seeds: tuple[int, ...]
    target: str
    settings: tuple[Setting, ...]
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Result:
    """A seed's verdict, and how ordinary its program was meant to be."""

    seed: int
    target: str
    verdict: Verdict


def work(task: Task, pipe: Connection, directory: Path) -> None:
    """Do a task: send the seed that begins, then its verdict."""
    programs = {seed: generate(seed, directory) for seed in task.seeds}
    if task.target == "c":
        seeds = list(programs)

        def begin(number: int) -> None:
            pipe.send((seeds[number] if number >= 0 else None, None))

        for number, verdict in Compiled(directory, task.settings).run(
            list(programs.values()), begin
        ):
            pipe.send((seeds[number], verdict))
        return
    stage = interpreted if task.target == "interp" else emulated
    for seed, program in programs.items():
        pipe.send((seed, None))
        pipe.send((seed, stage(program, directory)))


def serve(
    receive: Connection, pipe: Connection, directory: Path, environment: Mapping[str, str]
) -> None:
    """Do tasks until there are no more."""
    os.environ.clear()  # what forks was started earlier
    os.environ.update(environment)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (task := receive.recv()) is not None:
        work(task, pipe, directory)
        pipe.send(("done", None))


class Worker:
    """A process and the task it is at."""

    def __init__(self, root: Path) -> None:
        context = get_context("forkserver")
        self.directory = Path(tempfile.mkdtemp(dir=root))
        theirs, self.tasks = context.Pipe(duplex=False)
        self.results, ours = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, ours, self.directory, dict(os.environ)), daemon=True
        )
        self.process.start()
        theirs.close()
        ours.close()
        self.task: Task | None = None
        self.at: int | None = None
        self.left: set[int] = set()
        self.begin()

    def start(self, task: Task) -> None:
        """Begin a task."""
        self.task, self.at, self.left = task, None, set(task.seeds)
        self.begin()
        self.tasks.send(task)

    def begin(self) -> None:
        """Count time from now on."""
        self.since, self.spent = time.monotonic(), _spent(self.process)

    def is_late(self, seconds: float) -> bool:
        """Tell whether nothing was heard of it for so many seconds of the processor."""
        if time.monotonic() - self.since <= seconds:
            return False
        waited = time.monotonic() - self.since > WAITING * seconds
        return waited or _spent(self.process) - self.spent > seconds

    def end(self) -> None:
        """Stop the process."""
        with suppress(OSError):
            self.tasks.send(None)
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        shutil.rmtree(self.directory, ignore_errors=True)


def run_tasks(tasks: Iterable[Task], jobs: int, end: float = float("inf")) -> Iterator[Result]:
    """Do all tasks with so many processes; begin none after `end` of the monotonic clock."""
    todo = deque(tasks)
    with tempfile.TemporaryDirectory() as root:
        workers: list[Worker] = []
        try:
            while todo or any(w.task for w in workers):
                if time.monotonic() > end:
                    todo.clear()
                while len(workers) < jobs and todo:
                    workers.append(Worker(Path(root)))
                for worker in workers:
                    if worker.task is None and todo:
                        worker.start(todo.popleft())
                busy = [w for w in workers if w.task is not None]
                wait([w.results for w in busy], timeout=5.0)
                for worker in busy:
                    found, alive = _heard(worker)
                    yield from found
                    if not alive:
                        lost = _lost(worker)
                        if lost is not None:
                            yield lost
                        rest = _rest(worker)
                        todo.extendleft(rest)
                        worker.end()
                        workers.remove(worker)
        finally:
            for worker in workers:
                worker.end()


def _heard(worker: Worker) -> tuple[list[Result], bool]:
    """Return what a process has sent, and whether it goes on."""
    found: list[Result] = []
    assert worker.task is not None
    try:
        while worker.results.poll():
            seed, verdict = worker.results.recv()
            worker.begin()
            if seed == "done":
                worker.task = None
                return found, True
            if verdict is None:
                worker.at = seed
            else:
                worker.left.discard(seed)
                found.append(Result(seed, worker.task.target, verdict))
    except (EOFError, OSError):
        return found, False
    late = worker.is_late(worker.task.seconds)
    return found, not late and worker.process.is_alive()


def _spent(process: BaseProcess) -> float:
    """Return the seconds that a process and the ended ones that it started have computed."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it is gone, or there is no such file here
        return time.monotonic()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _lost(worker: Worker) -> Result | None:
    """Return the verdict on the program that ended a process."""
    assert worker.task is not None
    worker.process.join(0.5)
    code = worker.process.exitcode
    what = "hang" if code is None else f"exit {code}"
    if worker.at is None or worker.at not in worker.left:
        if len(worker.left) > 1:
            return None
        worker.at = next(iter(worker.left), None)
    if worker.at is None:
        return None
    worker.left.discard(worker.at)
    return Result(worker.at, worker.task.target, Verdict(Outcome.CRASH, what, "the process ended"))


def _rest(worker: Worker) -> list[Task]:
    """Return what is left of a task: one by one where it is not known what ended the process."""
    assert worker.task is not None
    task, seeds = worker.task, sorted(worker.left)
    if not seeds:
        return []
    if worker.at is None or task.target == "c":
        half = max(len(seeds) // 2, 1)
        parts = [seeds[:half], seeds[half:]]
        return [Task(tuple(p), task.target, task.settings, task.seconds) for p in parts if p]
    return [Task(tuple(seeds), task.target, task.settings, task.seconds)]


def tasks_of(
    seeds: Iterable[int], target: str, settings: tuple[Setting, ...], batch: int = BATCH
) -> Iterator[Task]:
    """Cut seeds into tasks."""
    listed = list(seeds)
    for start in range(0, len(listed), batch):
        yield Task(tuple(listed[start : start + batch]), target, settings)


def alone(
    run: Callable[[HostileProgram, Path], Verdict], program: HostileProgram, seconds: float
) -> Verdict:
    """Run one program in a forked process; its death or delay is its verdict."""
    context = get_context("fork")
    results, ours = context.Pipe(duplex=False)

    def child() -> None:
        random.seed(0)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        with tempfile.TemporaryDirectory() as directory:
            ours.send(run(program, Path(directory)))

    process = context.Process(target=child, daemon=True)
    process.start()
    ours.close()
    try:
        if not results.poll(seconds):
            return Verdict(Outcome.CRASH, "hang", "")
        verdict = results.recv()
        assert isinstance(verdict, Verdict)
        return verdict
    except EOFError:
        process.join()
        return Verdict(Outcome.CRASH, f"exit {process.exitcode}", "")
    finally:
        process.kill()
        process.join()
