"""Compiled kernels, each in a process of its own, arrays between pages that nobody may touch.

In: made cases.  Out: for each the first thing that is wrong, or None; all are built at once.
A kernel runs twice at every size: its arrays end, then begin, where the next page is guarded.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.ir.source import CParam, CParamKind
from tests.mutants.case import Made
from tests.mutants.layers import differing, given_array, seen
from tests.properties.batch import build_batch

SECONDS = 10.0
_PAGE = mmap.PAGESIZE
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Job:
    """One kernel at some sizes: the values of its arrays, flat, each with its first element."""

    entry: str
    params: tuple[CParam, ...]
    calls: tuple[dict[str, Any], ...]


def run_all(cases: Sequence[Made], directory: Path) -> list[str | None]:
    """Return what is wrong with each of `cases`."""
    library = build_batch([made.source for made in cases], directory)
    jobs = [_job(made) for made in cases]
    (directory / "jobs").write_bytes(pickle.dumps((library._name, jobs)))
    command = [sys.executable, "-m", "tests.mutants.running", str(directory)]
    environment = {**os.environ, "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    subprocess.run(command, check=True, cwd=_ROOT, env=environment, timeout=900)
    found = pickle.loads((directory / "results").read_bytes())
    return [_verdict(made, *one) for made, one in zip(cases, found, strict=True)]


def _job(made: Made) -> Job:
    calls = []
    for sizes in made.case.sizes:
        arrays = made.arrays(sizes)
        strides = {n: [s // a.itemsize for s in a.strides] for n, a in arrays.items()}
        memory = {n: given_array(a) for n, a in arrays.items()}
        calls.append({"sizes": dict(sizes), "memory": memory, "strides": strides})
    return Job(made.source.entry, made.source.params, tuple(calls))


def _verdict(made: Made, status: int, results: list[dict[str, Any]]) -> str | None:
    for number, after in enumerate(results):
        sizes = made.case.sizes[number // 2]
        before = made.arrays(sizes)
        got = {n: seen(flat, before[n], given_array(before[n])[1]) for n, flat in after.items()}
        wrong = differing(made.expected(sizes), got)
        if wrong:
            return f"{wrong} at {dict(sizes)}"
    if status:
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"its process ended with {name}"
    return None


# -- in the process that runs them ----------------------------------------------------------------


class Guarded:
    """Memory for an array that ends, or begins, at a page without access."""

    def __init__(self, values: Any, at_end: bool) -> None:
        length = -(-max(values.nbytes, 1) // _PAGE) * _PAGE
        self._map = mmap.mmap(-1, length + 2 * _PAGE)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (begin, begin + _PAGE + length):
            assert libc.mprotect(ctypes.c_void_p(page), _PAGE, 0) == 0
        start = _PAGE + (length - values.nbytes if at_end else 0)
        self.address = begin + start
        self.values = np.frombuffer(self._map, values.dtype, values.size, start)
        self.values[:] = values


def _call(library: ctypes.CDLL, job: Job, call: dict[str, Any], at_end: bool) -> dict[str, Any]:
    guarded = {n: Guarded(flat, at_end) for n, (flat, _) in call["memory"].items()}
    entry = getattr(library, job.entry)
    args: list[Any] = []
    for param in job.params:
        match param.kind:
            case CParamKind.ARRAY:
                flat, offset = call["memory"][param.name]
                place = guarded[param.name].address + offset * flat.itemsize
                args.append(ctypes.c_void_p(place))
            case CParamKind.STRIDE:
                args.append(ctypes.c_int64(call["strides"][param.name][param.dim]))
            case _:
                args.append(ctypes.c_int64(call["sizes"][param.name]))
    assert entry(*args) == 0
    return {name: np.array(one.values) for name, one in guarded.items()}


def _run_apart(library: ctypes.CDLL, job: Job, path: Path) -> tuple[int, list[Any]]:
    """Run a job in a child; return how it ended, and the arrays after every call that did."""
    path.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        done: list[Any] = []
        for call in job.calls:
            for at_end in (True, False):
                done.append(_call(library, job, call, at_end))
                path.write_bytes(pickle.dumps(done))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = pickle.loads(path.read_bytes()) if path.exists() else []
    return os.waitstatus_to_exitcode(status), found


def main(directory: Path) -> None:
    """Run all jobs that wait in `directory`."""
    name, jobs = pickle.loads((directory / "jobs").read_bytes())
    library = ctypes.CDLL(name)
    results = [_run_apart(library, job, directory / f"result{n}") for n, job in enumerate(jobs)]
    (directory / "results").write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
