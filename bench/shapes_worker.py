"""A process that times one implementation of products of matrices on request.

In: one JSON command a line on standard input: who, the form of the operands, the shape, the type.
Out: the fastest of some samples, in microseconds; an error where the result is wrong.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import polyopt as po
from bench.baseline import compiler
from bench.clock import now
from bench.levels import target_flags
from bench.serving import serve

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
    """Return the microseconds of a call: of the fastest sample, which others disturb least."""
    call()
    began = now()
    call()
    count = max(1, min(1000, int(SPAN / max(now() - began, 1e-7))))
    times = []
    for _ in range(REPEATS):
        began = now()
        for _ in range(count):
            call()
        times.append((now() - began) / count * 1e6)
    return min(times)


def timed(who: str, form: str, shape: Shape, dtype: str, loops: Callable[..., Any]) -> float:
    """Return the time of one shape; raises `AssertionError` where the result is wrong."""
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


@cache
def _loops(dtype: str) -> Callable[..., Any]:
    with tempfile.TemporaryDirectory(prefix="polyopt-shapes-") as folder:
        return library(Path(folder), dtype)


def answer(command: dict[str, Any]) -> dict[str, Any]:
    """Carry out one command."""
    shape, dtype = tuple(command["shape"]), command["dtype"]
    return {"time": timed(command["who"], command["form"], shape, dtype, _loops(dtype))}


if __name__ == "__main__":
    serve(answer, repr)
