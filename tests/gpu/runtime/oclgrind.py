"""OpenCL text under Oclgrind, which interprets it and reports races, bounds and divergence.

In: text, launches, arrays.  Out: `Checked`: what was reported, and the arrays afterwards.
Refuses: no Oclgrind (PO0511), text or launches that it cannot run (PO0519).
The interpreter may end its process, so it gets one of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError
from polyopt.runtime.device.faults import device_failed, no_platform
from polyopt.runtime.device.opencl import CHECKER, OpenCLProvider, opencl_devices
from polyopt.runtime.device.provider import AnyArray, Extent3, KernelArgument

_JOB, _ARRAYS, _RESULTS, _LOG = "job.json", "arrays.npz", "results.npz", "log.txt"
_SECONDS = 120.0
_FLAGS = ("-cl-opt-disable",)  # optimized kernels have fewer accesses and other barriers
_SETTINGS = {
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNINITIALIZED": "1",
    "OCLGRIND_UNIFORM_WRITES": "1",
    "OCLGRIND_MAX_ERRORS": "1000",
    "OCLGRIND_MAX_WGSIZE": "1024",
    "OCLGRIND_LOCAL_MEM_SIZE": str(48 * 1024),
}


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch; arrays are arguments by their names."""

    entry: str
    grid: Extent3
    block: Extent3
    args: tuple[str | np.generic, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What Oclgrind says; nothing is reported of launches that are right."""

    reports: tuple[str, ...]
    arrays: Mapping[str, AnyArray]


def has_checker() -> bool:
    """Tell whether Oclgrind is there."""
    try:
        return any(device.platform == CHECKER for device in opencl_devices())
    except PolyoptError:
        return False


def check_opencl(
    text: str,
    launches: Sequence[Launch],
    arrays: Mapping[str, AnyArray],
    flags: tuple[str, ...] = (),
    seconds: float = _SECONDS,
) -> Checked:
    """Run `launches` one after the other on copies of `arrays`."""
    if not has_checker():
        raise no_platform('Oclgrind is not installed (`pip install "pyopencl[oclgrind]"`)')
    steps = [[run.entry, run.grid, run.block, [_told(a) for a in run.args]] for run in launches]
    with tempfile.TemporaryDirectory(prefix="polyopt-oclgrind-") as name:
        work = Path(name)
        job = {"text": text, "flags": [*flags, *_FLAGS], "launches": steps}
        (work / _JOB).write_text(json.dumps(job), encoding="utf-8")
        np.savez(work / _ARRAYS, allow_pickle=False, **dict(arrays))
        said = _run(work, seconds)
        log = work / _LOG
        if not (work / _RESULTS).exists() or not log.exists():
            raise device_failed(CHECKER, "a check", said[-300:])
        with np.load(work / _RESULTS) as found:
            results = {name: found[name] for name in arrays}
        return Checked(read_log(log.read_text(encoding="utf-8", errors="replace")), results)


def read_log(text: str) -> tuple[str, ...]:
    """Return the reports of a log, without repetitions: they differ in threads and addresses."""
    blocks = [block.strip("\n") for block in text.split("\n\n")]
    return tuple(dict.fromkeys(block for block in blocks if block.strip()))


def _run(work: Path, seconds: float) -> str:
    command = [sys.executable, "-m", __name__, str(work)]
    environment = {**os.environ, **_SETTINGS, "OCLGRIND_LOG": str(work / _LOG)}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise device_failed(CHECKER, "a check", f"no answer in {seconds:.0f} s") from None
    return done.stdout.decode("utf-8", "replace")


def _told(argument: str | np.generic) -> str | list[str]:
    if isinstance(argument, str):
        return argument
    return [argument.dtype.str, argument.tobytes().hex()]


def _heard(argument: list[str]) -> np.generic:
    kind, data = argument
    value = np.frombuffer(bytes.fromhex(data), np.dtype(kind))[0]
    assert isinstance(value, np.generic)
    return value


def _child(work: Path) -> None:
    """Run the job in `work`: the process under check."""
    job = json.loads((work / _JOB).read_text(encoding="utf-8"))
    chosen = next(device for device in opencl_devices() if device.platform == CHECKER)
    device = OpenCLProvider(chosen)
    with np.load(work / _ARRAYS) as found:
        arrays = {name: found[name] for name in found.files}
    entries = tuple(dict.fromkeys(entry for entry, *_ in job["launches"]))
    module = device.compile(job["text"], entries, tuple(job["flags"]))
    buffers = {name: device.alloc(array.nbytes) for name, array in arrays.items()}
    for name, array in arrays.items():
        device.upload(buffers[name], array)
    for entry, grid, block, given in job["launches"]:
        args: list[KernelArgument] = [
            buffers[argument] if isinstance(argument, str) else _heard(argument)
            for argument in given
        ]
        device.launch(module, entry, tuple(grid), tuple(block), args)
    for name, array in arrays.items():
        device.download(buffers[name], array)
    np.savez(work / _RESULTS, allow_pickle=False, **arrays)


if __name__ == "__main__":
    _child(Path(sys.argv[1]))
