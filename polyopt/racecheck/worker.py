"""A process of its own for kernels that may crash or never end.

In: directories of jobs.  Out: None when a job was done, else `Ended`: how the process ended.
Parent and child write jobs and results as files in a directory.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polyopt
from polyopt.dataclass import dataclass
from polyopt.ir.source import Source
from polyopt.racecheck.library import require_gcc
from polyopt.racecheck.packing import pack, unpack
from polyopt.runtime.check import check_call
from polyopt.runtime.records import from_json, to_json
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler

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


class Workshop:
    """A directory for jobs, and the process that does them; use it in a `with` statement."""

    def __init__(self, compiler: str | None) -> None:
        self._gcc = require_gcc(find_compiler(open_store(), compiler))
        self._home = tempfile.TemporaryDirectory(prefix="polyopt-check-")
        self._directory = Path(self._home.name)
        self._worker = Worker(self._directory, {})
        self._number = 0

    def __enter__(self: _W) -> _W:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        self._home.cleanup()

    def _new_job(self, source: Source, arguments: Sequence[object]) -> Path:
        """Return a directory for a call of a kernel; raises where its arguments do not fit."""
        check_call(source.signature, arguments)
        self._number += 1
        work = self._directory / f"job{self._number}"
        work.mkdir()
        return work


_W = TypeVar("_W", bound=Workshop)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a job: arguments as the kernel left them, what it returned or ran into."""

    arguments: tuple[Any, ...]
    returned: Any
    error: tuple[str, str] | None
    conflicts: list[Any]
    totals: dict[str, int]


def write_job(
    work: Path,
    library: Path,
    source: Source,
    arguments: Sequence[object],
    rules: dict[str, int] | None,
) -> None:
    """Write a job to `work`; `rules` are for libraries whose accesses are watched."""
    job = {
        "library": str(library),
        "source": to_json(source),
        "arguments": pack(arguments, work),
        "rules": rules,
    }
    (work / "job.json").write_text(json.dumps(job), encoding="utf-8")


def read_result(work: Path) -> Result:
    """Return what the child wrote to `work`."""
    job = json.loads((work / "job.json").read_text(encoding="utf-8"))
    result = json.loads((work / "result.json").read_text(encoding="utf-8"))
    source = from_json(job["source"])
    assert isinstance(source, Source)
    after, _ = unpack(job["arguments"], work)
    parts, _ = unpack(result["returned"], work / "returned")
    return Result(
        after,
        None if result["error"] else source.signature.returned(parts),
        None if result["error"] is None else tuple(result["error"]),
        result["conflicts"],
        result["totals"],
    )
