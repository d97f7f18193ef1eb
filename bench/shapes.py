"""Time products of matrices of many shapes: polyopt, NumPy's BLAS, plain loops compiled by gcc.

In: nothing, `--json`, `--isa v3`.  Out: per shape the speed over the better of the two others.
Results are checked.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyopt as po
from bench.baseline import compiler
from bench.levels import choose, target_flags

Array = np.ndarray[Any, np.dtype[np.float64]]

REPEATS = 5
SPAN = 2e-3  # seconds of calls that are timed together
LOOPS = """
#include <stddef.h>
void product(size_t n, size_t k, size_t m, const double *restrict a, const double *restrict b,
             double *restrict c, int left, int right)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++)
            c[i * m + j] = 0.0;
        if (right) {
            for (size_t j = 0; j < m; j++)
                for (size_t p = 0; p < k; p++)
                    c[i * m + j] += (left ? a[p * n + i] : a[i * k + p]) * b[j * k + p];
        } else {
            for (size_t p = 0; p < k; p++)
                for (size_t j = 0; j < m; j++)
                    c[i * m + j] += (left ? a[p * n + i] : a[i * k + p]) * b[p * m + j];
        }
    }
}
"""


@po.kernel
def plain(C: Array, A: Array, B: Array) -> None:
    """C = A B."""
    C[:] = A @ B


@po.kernel
def left(C: Array, A: Array, B: Array) -> None:
    """C = A^T B."""
    C[:] = A.T @ B


@po.kernel
def right(C: Array, A: Array, B: Array) -> None:
    """C = A B^T."""
    C[:] = A @ B.T


KERNELS: dict[str, Callable[..., Any]] = {"A@B": plain, "A.T@B": left, "A@B.T": right}
CUBES = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 96, 127, 128, 256, 509)
OTHERS = ((7, 300, 300), (300, 300, 7), (300, 7, 300), (2000, 16, 16), (16, 16, 2000), (31, 61, 97))
SHAPES = tuple((n, n, n) for n in CUBES) + OTHERS


@dataclass(frozen=True, slots=True)
class Row:
    """Microseconds of one product, `n` by `k` by `m`; `ratio`: the better other over polyopt."""

    form: str
    shape: tuple[int, int, int]
    polyopt: float
    blas: float
    loops: float

    @property
    def ratio(self) -> float:
        """Return how many times faster polyopt is than the better of the others."""
        return min(self.blas, self.loops) / self.polyopt


def library(folder: Path) -> Callable[..., Any]:
    """Return the plain loops, compiled as a user would."""
    (folder / "loops.c").write_text(LOOPS)
    flags = ("-O3", *target_flags(), "-ffast-math", "-shared", "-fPIC")
    made = folder / "loops.so"
    subprocess.run([compiler(), *flags, str(folder / "loops.c"), "-o", str(made)], check=True)
    found = ctypes.CDLL(str(made)).product
    found.restype = None
    return found


def measured(call: Callable[[], Any]) -> float:
    """Return the median microseconds of a call."""
    call()
    began = time.perf_counter()
    call()
    count = max(1, min(1000, int(SPAN / max(time.perf_counter() - began, 1e-7))))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - began) / count * 1e6)
    return statistics.median(times)


def timed(who: str, form: str, shape: tuple[int, int, int], loops: Callable[..., Any]) -> float:
    """Return the time of one shape; raises `AssertionError` where the result is wrong."""
    n, k, m = shape
    rng = np.random.default_rng(n + k + m)
    a, b, c = rng.random((n, k)), rng.random((k, m)), np.zeros((n, m))
    a = a.T.copy() if form == "A.T@B" else a
    b = b.T.copy() if form == "A@B.T" else b
    x, y = (a.T if form == "A.T@B" else a), (b.T if form == "A@B.T" else b)
    data = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    sizes = [ctypes.c_size_t(size) for size in shape]
    kernel = KERNELS[form]
    calls: dict[str, Callable[[], Any]] = {
        "polyopt": lambda: kernel(c, a, b),
        "blas": lambda: np.matmul(x, y, out=c),
        "loops": lambda: loops(*sizes, *data, int(form == "A.T@B"), int(form == "A@B.T")),
    }
    found = measured(calls[who])
    assert np.allclose(c, np.einsum("ik,kj->ij", x, y)), (who, form, shape)
    return found


def times(who: str) -> None:
    """Print the times of one implementation, which has the process for itself."""
    small = np.ones((2, 2))
    for kernel in KERNELS.values() if who == "polyopt" else ():
        kernel(small.copy(), small, small)
    with tempfile.TemporaryDirectory(prefix="polyopt-shapes-") as folder:
        loops = library(Path(folder))
        print(json.dumps([timed(who, form, shape, loops) for form in KERNELS for shape in SHAPES]))


def main(words: list[str]) -> None:
    """Measure and print.

    Threads of one implementation wait for more work on all cores: each has a process of its own.
    """
    if "--isa" in words:
        choose(words[words.index("--isa") + 1])
    if "--one" in words:
        times(words[words.index("--one") + 1])
        return
    found = []
    for who in ("polyopt", "blas", "loops"):
        command = [sys.executable, "-m", "bench.shapes", "--one", who]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    cases = [(form, shape) for form in KERNELS for shape in SHAPES]
    rows = [Row(*case, *t) for case, *t in zip(cases, *found, strict=True)]
    if "--json" in words:
        print(json.dumps([{**asdict(one), "ratio": one.ratio} for one in rows]))
        return
    for one in rows:
        n, k, m = one.shape
        size = f"{n}x{k}x{m}"
        print(
            f"{one.form:6} {size:>14} {one.polyopt:10.2f} us  BLAS {one.blas:10.2f}"
            f"  loops {one.loops:10.2f}  ratio {one.ratio:5.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
