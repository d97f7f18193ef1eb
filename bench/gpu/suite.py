"""All workloads in all forms on the GPU, against NumPy, at sizes that divide no tile.

In: names on the command line, or none: all, by several processes.  Out: a row a workload and form.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import polyopt as po
import workloads
from bench.check import relative_error
from bench.gpu.rehearsal import device
from bench.gpu.stages import say, seconds_left
from workloads import Workload

_SHARE = 4  # workloads a process; a kernel that fails takes the rest of its process with it
_SECONDS = 60.0


def sizes_of(workload: Workload) -> tuple[dict[str, int], ...]:
    """Return single and ragged sizes."""
    least = workload.least
    found = [{name: max(1, least.get(name, 0)) for name in workload.parameters}]
    for first in (7, 37):
        sizes = {
            name: max(3 if name == workload.steps else first + 2 * k, least.get(name, 0))
            for k, name in enumerate(workload.parameters)
        }
        if workload.flops(sizes) <= 1e7:
            found.append(sizes)
    return tuple(found)


def check(name: str, form: str, device: int | str | None = None) -> None:
    """Compare one form of a workload with its reference."""
    workload = workloads.get(name)
    begun = time.monotonic()
    row = {"workload": f"{name} {form}", "right": False, "error": None, "seconds": None}
    try:
        kernel = po.kernel(target="cuda", device=device)(workload.forms[form])
        worst = 0.0
        for sizes in sizes_of(workload):
            arguments = workload.make(sizes, seed=3)
            want = workload.reference(arguments)
            found = workload.results(arguments, kernel(**arguments))
            error = relative_error(found, want)
            worst = max(worst, error)
            if not error <= workload.bound(sizes):
                row["wrong"] = f"error {error:.1e} at {sizes}, bound {workload.bound(sizes):.1e}"
        row |= {"error": worst, "right": "wrong" not in row}
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**{**row, "seconds": time.monotonic() - begun})


def share(names: Sequence[str]) -> list[str]:
    """Check `names` in a process of their own; return what was printed, none lost in a crash."""
    if seconds_left() <= 0:
        return [json.dumps({"workload": name, "left_out": "no time was left"}) for name in names]
    command = [sys.executable, "-m", "bench.gpu.suite", *names]
    said, code = "", 0
    try:
        limit = max(5.0, min(_SECONDS * len(names), seconds_left()))
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False
        )  # fmt: skip
        said, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        said = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        code = -1
    lines = [line for line in said.splitlines() if line.startswith("{")]
    seen = {json.loads(line)["workload"] for line in lines}
    left = [name for name in names if any(f"{name} {f}" not in seen for f in _forms(name))]
    if not left:
        return lines
    if len(names) > 1:  # each alone: one may have taken the others with it
        return [*lines, *(line for name in left for line in share([name]))]
    reason = "no answer in time" if code == -1 else f"the process ended with code {code}"
    return [*lines, json.dumps({"workload": left[0], "wrong": reason})]


def _forms(name: str) -> tuple[str, ...]:
    return tuple(workloads.get(name).forms)


def main(names: Sequence[str]) -> None:
    """Check the names given, or start processes for all."""
    if names:
        for name in names:
            for form in _forms(name):
                check(name, form, device())
        return
    every = list(workloads.names(None))
    shares = [every[start : start + _SHARE] for start in range(0, len(every), _SHARE)]
    at_once = max(1, len(os.sched_getaffinity(0)) - 1)
    with ThreadPoolExecutor(at_once) as pool:
        for lines in pool.map(share, shares):
            print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
