"""Time products of matrices of many shapes: polyopt, NumPy's BLAS, plain loops compiled by gcc.

In: the shapes listed here, or `--random 200 --seed 0`; `--isa v3`, `--dtype float32`.  Out: per
shape the speed over the better of the two others; of random ones geometric means by kind, how many
are under 0.8, and the ten worst.  Results are checked.
"""

from __future__ import annotations

import argparse
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
from bench.levels import LEVELS, choose, target_flags

Array = np.ndarray[Any, np.dtype[np.floating[Any]]]
Shape = tuple[int, int, int]

REPEATS = 5
SPAN = 2e-3  # seconds of calls that are timed together
LOOPS = """
#include <stddef.h>
void product(size_t n, size_t k, size_t m, const NUMBER *restrict a, const NUMBER *restrict b,
             NUMBER *restrict c, int left, int right)
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
LOW = 0.8
WORST = 10
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 23, 31, 47, 61, 97, 127, 191, 257, 389, 509, 761, 1021)
_POWERS = tuple(2**p + d for p in range(3, 11) for d in (-1, 1))


@dataclass(frozen=True, slots=True)
class Case:
    """One product: its operands' forms and its shape; `kind` is where the shape was drawn from."""

    kind: str
    form: str
    shape: Shape


def listed() -> list[Case]:
    """Return the shapes listed here, in every form."""
    return [Case("listed", form, shape) for form in KERNELS for shape in SHAPES]


def drawn(count: int, seed: int) -> list[Case]:
    """Return shapes drawn from a seed, the kinds in turn, in all forms of operands."""
    rng = np.random.default_rng(seed)

    def size(high: int) -> int:
        return int(np.exp(rng.uniform(0.0, np.log(high))) + 0.5)

    kinds: dict[str, Callable[[], Shape]] = {
        "small": lambda: (size(64), size(64), size(64)),
        "primes": lambda: tuple(int(rng.choice(_PRIMES)) for _ in range(3)),  # type: ignore[return-value]
        "powers": lambda: tuple(int(rng.choice(_POWERS)) for _ in range(3)),  # type: ignore[return-value]
        "tall": lambda: (size(2000) + 200, size(100), size(40)),
        "wide": lambda: (size(40), size(100), size(2000) + 200),
        "deep": lambda: (size(60), size(2000) + 200, size(60)),
        "matrix-vector": lambda: (size(2000), size(2000), 1),
        "vector-matrix": lambda: (1, size(2000), size(2000)),
        "any": lambda: (size(1200), size(1200), size(1200)),
    }
    names = list(kinds)
    found = []
    for number in range(count):
        kind = names[number % len(names)]
        found.append(Case(kind, list(KERNELS)[int(rng.integers(len(KERNELS)))], kinds[kind]()))
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """Microseconds of one product, `n` by `k` by `m`; `ratio`: the better other over polyopt."""

    kind: str
    form: str
    shape: Shape
    polyopt: float
    blas: float
    loops: float

    @property
    def ratio(self) -> float:
        """Return how many times faster polyopt is than the better of the others."""
        return min(self.blas, self.loops) / self.polyopt


def library(folder: Path, dtype: str) -> Callable[..., Any]:
    """Return the plain loops, compiled as a user would."""
    (folder / "loops.c").write_text(LOOPS)
    number = f"-DNUMBER={'float' if dtype == 'float32' else 'double'}"
    flags = ("-O3", number, *target_flags(), "-ffast-math", "-fPIC", "-c")
    part, made = folder / "loops.o", folder / "loops.so"
    subprocess.run([compiler(), *flags, str(folder / "loops.c"), "-o", str(part)], check=True)
    # linked without `-ffast-math`: with it, gcc 12 adds a start-up routine that makes this whole
    # process flush subnormal numbers to zero
    subprocess.run([compiler(), "-shared", str(part), "-o", str(made)], check=True)
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


def timed(who: str, case: Case, dtype: str, loops: Callable[..., Any]) -> float:
    """Return the time of one shape; raises `AssertionError` where the result is wrong."""
    form, shape = case.form, case.shape
    n, k, m = shape
    rng = np.random.default_rng(n + k + m)
    a, b, c = (x.astype(dtype) for x in (rng.random((n, k)), rng.random((k, m)), np.zeros((n, m))))
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
    wide = np.matmul(x.astype(np.float64), y.astype(np.float64))
    assert np.allclose(c, wide, rtol=1e-4 if dtype == "float32" else 1e-9), (who, form, shape)
    return found


def times(who: str, cases: list[Case], dtype: str) -> None:
    """Print the times of one implementation, which has the process for itself."""
    small = np.ones((2, 2), dtype)
    for kernel in KERNELS.values() if who == "polyopt" else ():
        kernel(small.copy(), small, small)
    with tempfile.TemporaryDirectory(prefix="polyopt-shapes-") as folder:
        loops = library(Path(folder), dtype)
        print(json.dumps([timed(who, case, dtype, loops) for case in cases]))


def asked(words: list[str]) -> argparse.Namespace:
    """Return the options; ends the process with a message where there is no such option."""
    parser = argparse.ArgumentParser(prog="python -m bench.shapes", description=__doc__)
    parser.add_argument("--isa", choices=list(LEVELS))
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    """Measure and print.

    Threads of one implementation wait for more work on all cores: each has a process of its own.
    """
    options = asked(words)
    if options.isa is not None:
        choose(options.isa)
    cases = drawn(options.random, options.seed) if options.random else listed()
    if options.one is not None:
        times(options.one, cases, options.dtype)
        return
    found = []
    for who in ("polyopt", "blas", "loops"):
        command = [sys.executable, "-m", "bench.shapes", *words, "--one", who]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    rows = [
        Row(case.kind, case.form, case.shape, *times)
        for case, *times in zip(cases, *found, strict=True)
    ]
    if options.json:
        print(json.dumps([{**asdict(one), "ratio": one.ratio} for one in rows]))
        return
    for one in rows if not options.random else sorted(rows, key=lambda row: row.ratio)[:WORST]:
        print(line(one))
    print(*summary(rows), sep="\n")


def line(row: Row) -> str:
    """Return a product's times as a line."""
    size = "x".join(map(str, row.shape))
    return (
        f"{row.form:6} {size:>14} {row.polyopt:10.2f} us  BLAS {row.blas:10.2f}"
        f"  loops {row.loops:10.2f}  ratio {row.ratio:5.2f}"
    )


def summary(rows: list[Row]) -> list[str]:
    """Return geometric means of the ratios by kind and of all, and how many are low."""
    lines = []
    for kind in [*dict.fromkeys(row.kind for row in rows), "all"]:
        ratios = [row.ratio for row in rows if kind in (row.kind, "all")]
        low = sum(ratio < LOW for ratio in ratios)
        mean = statistics.geometric_mean(ratios)
        lines.append(f"{kind:14} geometric mean {mean:5.2f}, {low} of {len(ratios)} under {LOW}")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
