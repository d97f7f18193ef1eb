"""A process of its own for kernels that may crash or never end.

In: directories of jobs.  Out: None when a job was done, else `Ended`: how the process ended.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import polyopt
from polyopt.dataclass import dataclass

_COMMAND = "from polyopt.racecheck.child import main; main()"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its status (None: it was stopped after its time) and what it said."""

    status: int | None
    said: str


class Worker:
    """The process; it is started when there is a job, and again after it has ended."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._stderr = directory / "stderr"
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    def do(self, work: Path, seconds: float) -> Ended | None:
        """Do the job in `work`."""
        process = self._process or self._start()
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        try:
            process.stdin.write(f"{work}\n".encode())
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            if ready:
                answer = process.stdout.readline()
        except BrokenPipeError:
            ready = [process.stdout]
        if answer == b"done\n":
            return None
        status = process.wait() if ready else None
        self.close()
        return Ended(status, self._stderr.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the process; what it says on stderr goes to a file."""
        package = str(Path(polyopt.__file__).parent.parent)
        inherited = os.environ.get("PYTHONPATH")
        paths = package if not inherited else f"{package}{os.pathsep}{inherited}"
        with open(self._stderr, "wb") as said:
            return subprocess.Popen(
                [sys.executable, "-c", _COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**os.environ, "PYTHONPATH": paths, **self._environment},
            )
