"""edit-distance: Levenshtein's distance with two rows that change places."""

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
DTYPE = np.uint8


def edit_distance(a: po.u8["M"], b: po.u8["N"]):
    M, N = len(a), len(b)
    previous = np.arange(N + 1)
    current = np.zeros(N + 1, dtype=np.int64)
    for i in range(1, M + 1):
        current[0] = i
        for j in range(1, N + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
        previous, current = current, previous
    return previous[N]


def make(M, N, dtype):
    return {"a": integers(1, 4, M).astype(dtype), "b": integers(2, 4, N).astype(dtype)}


def randomize(arguments, rng):
    for name in ("a", "b"):
        arguments[name][:] = rng.integers(0, 4, arguments[name].shape)
