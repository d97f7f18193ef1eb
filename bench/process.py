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

from bench.budget import Deadline
from bench.descendants import end_tree
from bench.peers.folder import store
from bench.records import Implementation, Status

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NEVER = Deadline()
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_driver() -> None:
    """Let this process be killed when its driver ends: a stopped one would not notice."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


def own_packages() -> list[str]:
    """Return a folder that has polyopt and no other package, where it is not beside the harness.

    In an installation the harness lies inside polyopt, and the folder around that has all of the
    project's packages, which must not take the place of the peer's.
    """
    if (ROOT / "polyopt").is_dir():
        return []
    folder = store("packages")
    link = folder / "polyopt"
    if not link.is_symlink() or link.resolve() != ROOT.parent:
        fresh = link.with_suffix(f".{os.getpid()}")
        fresh.symlink_to(ROOT.parent, target_is_directory=True)
        fresh.rename(link)
    return [str(folder)]


def environment_of(python: str, threads: int) -> dict[str, str]:
    """Return the environment of a worker: the user's, as if that Python's were activated.

    Counts of threads are set where not all cores are asked for; otherwise every library chooses
    for itself, as it does for its users.  A peer in an environment of its own does not see the
    packages of the project's.
    """
    is_all = threads == len(os.sched_getaffinity(0))
    found = {name: text for name, text in os.environ.items() if name not in THREADS}
    found |= {} if is_all else dict.fromkeys(THREADS, str(threads))
    if python == sys.executable:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {**found, "PYTHONPATH": os.pathsep.join(paths)}
    home = Path(python).parent
    found.pop("PYTHONHOME", None)
    return {
        **found,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *own_packages()]),
        "VIRTUAL_ENV": str(home.parent),
        "PATH": os.pathsep.join([str(home), os.environ.get("PATH", os.defpath)]),
    }


class WorkerFailure(Exception):
    """A worker did not do what it was asked; `status` says in which way."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Conversation:
    """A running process that answers commands; a context manager that ends it.

    It leads a group of its own, so that Ctrl-C reaches the driver alone, which ends it together
    with the compilers it has started.  An answer must come within `timeout` seconds and before
    the `deadline` of its program.
    """

    def __init__(
        self,
        threads: int,
        timeout: float,
        module: str,
        python: str = sys.executable,
        deadline: Deadline = NEVER,
    ) -> None:
        self.timeout = timeout
        self.deadline = deadline
        self.process = subprocess.Popen(
            [python, "-m", module],
            cwd=ROOT,
            env=environment_of(python, threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_tree(self.process)
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
            seconds = min(self.timeout, self.deadline.left())
            ready, _, _ = select.select([stdout], [], [], seconds)
            if not ready:
                end_tree(self.process)  # its compiler must not run while others are timed
                limit = f"in {seconds:.0f} s"
                if seconds < self.timeout:
                    limit = "before the program's time was used up"
                raise WorkerFailure(Status.TIMEOUT, f"no answer {limit}")
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
        end_tree(self.process)
        code = self.process.returncode
        return WorkerFailure(Status.WRONG, f"the process ended with code {code}")


class WorkerProcess(Conversation):
    """A running worker of the short comparison."""

    def __init__(
        self, implementation: Implementation, timeout: float, deadline: Deadline = NEVER
    ) -> None:
        super().__init__(implementation.threads, timeout, "bench.worker", deadline=deadline)
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
