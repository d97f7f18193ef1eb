"""lcs: length of the longest common subsequence."""

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


def lcs(a: po.i64["M"], b: po.i64["N"]):
    M, N = len(a), len(b)
    L = np.zeros((M + 1, N + 1), dtype=np.int64)
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            if a[i - 1] == b[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = max(L[i - 1, j], L[i, j - 1])
    return L[M, N]


def make(M, N, dtype):
    return {"a": integers(1, 4, M).astype(dtype), "b": integers(2, 4, N).astype(dtype)}


def randomize(arguments, rng):
    for name in ("a", "b"):
        arguments[name][:] = rng.integers(0, 4, arguments[name].shape)
