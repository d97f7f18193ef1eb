"""needleman-wunsch: the score of the best global alignment of two sequences."""

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
OUTPUTS = ("return",)
DTYPE = np.int64


def needleman_wunsch(a: po.i64["M"], b: po.i64["N"], match: int, mismatch: int, gap: int):
    M, N = len(a), len(b)
    H = np.zeros((M + 1, N + 1), dtype=np.int64)
    for i in range(M + 1):
        H[i, 0] = -gap * i
    for j in range(N + 1):
        H[0, j] = -gap * j
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H


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
