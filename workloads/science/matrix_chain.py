"""matrix-chain: the cheapest order of a product of many matrices."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 6},
    "SMALL": {"N": 20},
    "MEDIUM": {"N": 60},
    "LARGE": {"N": 300},
    "EXTRALARGE": {"N": 800},
}
OUTPUTS = ("return[0]", "return[1]")
DTYPE = np.int64


def matrix_chain(p: po.i64["N+1"]):
    n = len(p) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    split = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 2**62
            for k in range(i, j):
                q = cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if q < cost[i, j]:
                    cost[i, j] = q
                    split[i, j] = k
    return cost, split


def make(N, dtype):
    return {"p": 1 + integers(1, 50, N + 1).astype(dtype)}
