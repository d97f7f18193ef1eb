"""Time the first call of a program as Numba compiles it, for `bench.first_call`.

In: a workload and a form.  Out: seconds as of `bench.first_call`, or None.
None: Numba is neither in its environment (`python -m bench.peers install numba`) nor in this one,
it refuses the program as it is written, or it takes more than `LONGEST` seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.peers import registry

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 300.0
Row = dict[str, float]


def first_call(name: str, form: str) -> Row | None:
    """Return what the first call takes in a process of its own, whose cache is empty."""
    python = interpreter()
    if python is None:
        return None
    command = [python, "-m", "bench.first_call_numba", name, form]
    with tempfile.TemporaryDirectory(prefix="polyopt-numba-") as folder:
        env = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return None
    found: Row | None = json.loads(done.stdout) if done.returncode == 0 else None
    return found


@cache
def interpreter() -> str | None:
    """Return a Python that has Numba."""
    if registry.version("numba") is not None:
        return registry.interpreter("numba")
    return None if find_spec("numba") is None else sys.executable


def work(name: str, form: str) -> Row | None:
    """Return what the first call takes in this process; None where Numba refuses the program."""
    from numba import njit

    imported = time.process_time()
    from workloads import registry as workloads

    function: Any = workloads.get(name).forms[form]
    arguments = tuple(workloads.get(name).make("MINI").values())
    wall, own = time.perf_counter(), time.process_time()
    try:
        njit(parallel=True, fastmath=True)(function)(*arguments)
    except Exception as error:  # what Numba raises for what it cannot read is of many types
        print(f"{name}:{form}: {error}", file=sys.stderr)
        return None
    return {
        "wall": time.perf_counter() - wall,
        "own": time.process_time() - own,
        "import": imported,
    }


if __name__ == "__main__":
    print(json.dumps(work(*sys.argv[1:])))
