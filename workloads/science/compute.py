"""compute: a clip and two scaled sums of integer arrays."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"M": 10, "N": 12},
    "SMALL": {"M": 60, "N": 70},
    "MEDIUM": {"M": 300, "N": 300},
    "LARGE": {"M": 2000, "N": 2000},
    "EXTRALARGE": {"M": 4000, "N": 4000},
}
OUTPUTS = ("return",)
DTYPE = np.int64


def compute(x: po.i64["M,N"], y: po.i64["M,N"], a: int, b: int, c: int):
    M, N = x.shape
    out = np.empty((M, N), dtype=np.int64)
    for i in range(M):
        for j in range(N):
            out[i, j] = min(max(x[i, j], 2), 10) * a + y[i, j] * b + c
    return out


def compute_numpy(x: po.i64["M,N"], y: po.i64["M,N"], a: int, b: int, c: int):
    return np.clip(x, 2, 10) * a + y * b + c


def make(M, N, dtype):
    return {
        "x": integers(1, 1000, (M, N)).astype(dtype),
        "y": integers(2, 1000, (M, N)).astype(dtype),
        "a": 4,
        "b": 3,
        "c": 9,
    }
