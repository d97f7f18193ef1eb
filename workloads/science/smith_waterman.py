"""smith-waterman: the best local alignment of two sequences and where it ends."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"M": 8, "N": 10},
    "SMALL": {"M": 30, "N": 40},
    "MEDIUM": {"M": 200, "N": 200},
    "LARGE": {"M": 2000, "N": 2000},
    "EXTRALARGE": {"M": 6000, "N": 6000},
}
OUTPUTS = ("return[0]", "return[1]", "return[2]")
DTYPE = np.int64


def smith_waterman(a: po.i64["M"], b: po.i64["N"], match: int, mismatch: int, gap: int):
    M, N = len(a), len(b)
    H = np.zeros((M + 1, N + 1), dtype=np.int64)
    best = 0
    best_i = 0
    best_j = 0
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
            if H[i, j] > best:
                best = H[i, j]
                best_i = i
                best_j = j
    return best, best_i, best_j


def make(M, N, dtype):
    return {
        "a": integers(1, 4, M).astype(dtype),
        "b": integers(2, 4, N).astype(dtype),
        "match": 2,
        "mismatch": -1,
        "gap": 2,
    }


def randomize(arguments, rng):
    for name in ("a", "b"):
        arguments[name][:] = rng.integers(0, 4, arguments[name].shape)
