"""The driver's end of a worker process.

In: an implementation.  Out: answers to commands.
A worker that has answered is stopped until its next command: threads that spin for a while after
a parallel loop (200 ms in LLVM's runtime) would take the cores from whoever is measured next.
Refuses (raises): an answer that is an error, takes too long, or never comes because of a crash.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.records import Implementation, Status

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_driver() -> None:
    """Let this process be killed when its driver ends: a stopped one would not notice."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


class WorkerFailure(Exception):
    """A worker did not do what it was asked; `status` says in which way."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Conversation:
    """A running process that answers commands; a context manager that ends it."""

    def __init__(
        self, threads: int, timeout: float, module: str, python: str = sys.executable
    ) -> None:
        count = str(threads)
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, count),
            "PYTHONPATH": os.pathsep.join(paths),
        }
        self.timeout = timeout
        self.process = subprocess.Popen(
            [python, "-m", module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            # a command that a dead worker did not read is still in the buffer
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()

    def ask(self, **command: Any) -> dict[str, Any]:  # noqa: ANN401
        """Send a command, wait for its answer."""
        self.send(**command)
        return self.receive()

    def send(self, **command: Any) -> None:  # noqa: ANN401
        """Send a command; its answer must be received before the next."""
        stdin = self.process.stdin
        assert stdin is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            stdin.write(json.dumps(command) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._crash() from None

    def receive(self) -> dict[str, Any]:
        """Wait for the answer to the last command."""
        stdout = self.process.stdout
        assert stdout is not None
        try:
            ready, _, _ = select.select([stdout], [], [], self.timeout)
            if not ready:
                raise WorkerFailure(Status.TIMEOUT, f"no answer in {self.timeout:.0f} s")
            line = stdout.readline()
            if not line:
                raise self._crash()
        finally:
            self.process.send_signal(signal.SIGSTOP)
        reply: dict[str, Any] = json.loads(line)
        if "failure" in reply:
            raise WorkerFailure(Status.REFUSED, reply["failure"])
        return reply

    def _crash(self) -> WorkerFailure:
        code = self.process.wait()
        return WorkerFailure(Status.WRONG, f"the process ended with code {code}")


class WorkerProcess(Conversation):
    """A running worker of the short comparison."""

    def __init__(self, implementation: Implementation, timeout: float) -> None:
        super().__init__(implementation.threads, timeout, "bench.worker")
        self.implementation = implementation

    def load(self, workload: str, library: str = "") -> float | None:
        """Let the worker prepare the implementation; return the seconds polyopt compiled."""
        i = self.implementation
        reply = self.ask(
            workload=workload,
            kind=i.kind.value,
            form=i.form,
            threads=i.threads,
            fp=i.fp,
            library=library,
        )
        seconds: float | None = reply["seconds"]
        return seconds
