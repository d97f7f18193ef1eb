"""knapsack: the best value of items within a weight, one row of the table in place."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 6, "CAPACITY": 20},
    "SMALL": {"N": 20, "CAPACITY": 100},
    "MEDIUM": {"N": 100, "CAPACITY": 1000},
    "LARGE": {"N": 500, "CAPACITY": 20000},
    "EXTRALARGE": {"N": 1000, "CAPACITY": 100000},
}
OUTPUTS = ("return",)
DTYPE = np.int64


def knapsack(weight: po.i64["N"], value: po.i64["N"], capacity: int):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weight)):
        for c in range(capacity, weight[i] - 1, -1):
            best[c] = max(best[c], best[c - weight[i]] + value[i])
    return best


def knapsack_numpy(weight: po.i64["N"], value: po.i64["N"], capacity: int):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for w, v in zip(weight, value, strict=True):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best


def make(N, CAPACITY, dtype):
    return {
        "weight": 1 + integers(1, 12, N).astype(dtype),
        "value": integers(2, 100, N).astype(dtype),
        "capacity": CAPACITY,
    }


LEAST = {"CAPACITY": 12}


def randomize(arguments, rng):
    arguments["weight"][:] = rng.integers(1, 12, arguments["weight"].shape)
    arguments["value"][:] = rng.integers(1, 100, arguments["value"].shape)
