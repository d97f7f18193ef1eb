"""The programs that are measured: plain NumPy functions, their data, what they must compute.

In: sizes.  Out: `Program`s.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[Any]
Arrays = dict[str, NDArray[Any]]


def copy(x: Matrix, y: Matrix) -> None:
    """Write each element once, read each once."""
    y[:] = x


def chain(x: Matrix, y: Matrix) -> None:
    """Several operations on each element."""
    y[:] = (x * 2.0 + 1.0) * (x - 3.0) / (x * x + 1.0)


def transpose(x: Matrix, y: Matrix) -> None:
    """Read rows, write columns."""
    y[:] = x.T


def row_sum(x: Matrix, s: Matrix) -> None:
    """Sum each row."""
    s[:] = np.sum(x, axis=1)


def softmax(x: Matrix, y: Matrix) -> None:
    """Normalize the exponentials of each row."""
    shifted = np.exp(x - np.max(x, axis=1, keepdims=True))
    y[:] = shifted / np.sum(shifted, axis=1, keepdims=True)


def layernorm(x: Matrix, y: Matrix) -> None:
    """Give each row mean 0 and variance 1."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    y[:] = centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


def jacobi(x: Matrix, y: Matrix) -> None:
    """One step of the five-point stencil."""
    y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def matmul(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Multiply two matrices."""
    c[:] = a @ b


@dataclass(frozen=True, slots=True)
class Program:
    """A function of arrays of one type: `inputs` and `output` are shapes in terms of n and m.

    `passes` is how many bytes move for each byte of the larger array at least, `flops` counts
    operations; `tolerance` bounds the error relative to the largest element.
    """

    name: str
    function: Callable[..., None]
    inputs: Mapping[str, str]
    output: tuple[str, str]
    tolerance: float
    fp: str = "strict"
    flops: Callable[[int, int], int] | None = None
    dtype: str = "float32"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of the elements; bfloat16 is of the package ml_dtypes."""
        if self.dtype != "bfloat16":
            return np.dtype(self.dtype)
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)

    def shapes(self, n: int, m: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all arguments, in order."""
        extents = {"n": n, "m": m}
        named = {**self.inputs, self.output[0]: self.output[1]}
        return {name: tuple(extents[e] for e in shape) for name, shape in named.items()}

    def make(self, n: int, m: int, seed: int = 1) -> Arrays:
        """Return random inputs, and an output that is not a number."""
        rng = np.random.default_rng(seed)
        found: Arrays = {}
        for name, shape in self.shapes(n, m).items():
            if name in self.inputs:
                found[name] = rng.standard_normal(shape, np.float32).astype(self.numpy)
            else:
                found[name] = np.full(shape, np.nan, self.numpy)
        return found

    def error(self, arrays: Arrays, got: NDArray[Any]) -> float:
        """Return the largest error, relative to the largest element, of the written part."""
        own = {name: array.astype(np.float64) for name, array in arrays.items()}
        want = np.full(got.shape, np.nan)
        own[self.output[0]] = want
        self.function(**own)
        written = np.isfinite(want)
        if not np.isfinite(got[written]).all() or not np.isnan(got[~written]).all():
            return float("inf")
        scale = np.max(np.abs(want[written]), initial=0.0)
        return float(np.max(np.abs(got[written] - want[written]), initial=0.0) / (scale or 1.0))

    def moved(self, n: int, m: int) -> int:
        """Return the bytes that must be read and written."""
        size = self.numpy.itemsize
        return sum(size * int(np.prod(shape)) for shape in self.shapes(n, m).values())


_ROWS = {"x": "nm"}
MEMORY_BOUND = (
    Program("copy", copy, _ROWS, ("y", "nm"), 0.0),
    Program("chain", chain, _ROWS, ("y", "nm"), 1e-6),
    Program("transpose", transpose, _ROWS, ("y", "mn"), 0.0),
    Program("row_sum", row_sum, _ROWS, ("s", "n"), 1e-5, "reassociate"),
    Program("softmax", softmax, _ROWS, ("y", "nm"), 1e-5, "reassociate"),
    Program("layernorm", layernorm, _ROWS, ("y", "nm"), 1e-5, "reassociate"),
    Program("jacobi", jacobi, _ROWS, ("y", "nm"), 1e-6),
)
MATMUL = Program(
    "matmul", matmul, {"a": "nm", "b": "mn"}, ("c", "nn"), 1e-5, "reassociate",
    lambda n, m: 2 * n * n * m,
)  # fmt: skip
HALVES = tuple(
    replace(MATMUL, name=f"matmul {dtype}", dtype=dtype, tolerance=tolerance)
    for dtype, tolerance in (("float16", 1e-3), ("bfloat16", 1e-2))
)
"""Products on matrix instructions; the results are rounded to numbers of 16 bits."""
PROGRAMS = (*MEMORY_BOUND, MATMUL)
