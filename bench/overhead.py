"""Time what a user waits for besides the work itself: import, first call, call overhead.

In: nothing.  Out: a table on stdout; every line is the median of fresh processes or repeats.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap

REPEATS = 7

IMPORT = """
import json, time
t0 = time.perf_counter()
import numpy
t1 = time.perf_counter()
import polyopt as po
t2 = time.perf_counter()
po.kernel
t3 = time.perf_counter()
print(json.dumps([t1 - t0, t2 - t1, t3 - t1]))
"""

STENCIL = """
import polyopt as po


@po.kernel
def stencil(u: po.f64["N,M"], v: po.f64["N,M"], w: po.f64["N,M"]):
    N, M = u.shape
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            w[i, j] = v[i, j] - u[i, j]
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            u[i, j] = u[i, j] + 0.5 * w[i, j]


@po.kernel
def touch(A: po.f64["N"], B: po.f64["N"], C: po.f64["N"]):
    C[0] = A[0] + B[0]
"""

FIRST = """
import json, time, sys
import numpy as np
from stencil_under_test import stencil
u, v, w = (np.ones((64, 64)) for _ in range(3))
start = time.perf_counter()
stencil(u, v, w)
print(json.dumps([time.perf_counter() - start]))
"""

CALL = """
import json, timeit
import numpy as np
from stencil_under_test import touch
A, B, C = (np.ones(8) for _ in range(3))
touch(A, B, C)
number = 200_000
empty = min(timeit.repeat("pass", number=number))
call = min(timeit.repeat("touch(A, B, C)", number=number, globals=globals()))
add = min(timeit.repeat("np.add(A, B, C)", number=number, globals=globals()))
print(json.dumps([(call - empty) / number, (add - empty) / number]))
"""


def run(text: str, directory: str, cache: str) -> list[float]:
    """Run `text` in a fresh interpreter; return the numbers it prints."""
    env = {**with_bytecode(), "POLYOPT_CACHE_DIR": cache, "PYTHONPATH": directory}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], env=env, check=True, capture_output=True
    )
    return [float(number) for number in json.loads(done.stdout)]


def with_bytecode() -> dict[str, str]:
    """Return the environment of an installed package, whose modules are kept as bytecode.

    Otherwise each process compiles the source of hundreds of modules: three times the time.
    """
    return {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}


def medians(rows: list[list[float]]) -> list[float]:
    """Return the median of every column."""
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="polyopt-overhead-") as directory:
        with open(os.path.join(directory, "stencil_under_test.py"), "w") as file:
            file.write(STENCIL)
        warm_cache = os.path.join(directory, "warm")
        imports = medians([run(IMPORT, directory, warm_cache) for _ in range(REPEATS)])
        cold = medians(
            [run(FIRST, directory, os.path.join(directory, f"cold{n}")) for n in range(REPEATS)]
        )
        run(FIRST, directory, warm_cache)
        warm = medians([run(FIRST, directory, warm_cache) for _ in range(REPEATS)])
        call = medians([run(CALL, directory, warm_cache) for _ in range(3)])
    rows = [
        ("import numpy", imports[0] * 1e3, "ms", ""),
        ("import polyopt, after numpy", imports[1] * 1e3, "ms", "at most 100"),
        ("import polyopt and name `kernel`, after numpy", imports[2] * 1e3, "ms", "at most 100"),
        ("first call of a three-statement stencil, cold", cold[0] * 1e3, "ms", "under 1000"),
        ("first call of a three-statement stencil, warm", warm[0] * 1e3, "ms", "at most 30"),
        ("one call with three arrays", call[0] * 1e6, "us", "at most 0.5"),
        ("np.add with three arrays", call[1] * 1e6, "us", ""),
    ]
    for name, value, unit, goal in rows:
        print(f"{name:48} {value:9.2f} {unit}  {goal}")


if __name__ == "__main__":
    main()
