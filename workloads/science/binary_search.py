"""binary-search: where each query belongs in a sorted array."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 20, "Q": 10},
    "SMALL": {"N": 200, "Q": 100},
    "MEDIUM": {"N": 5000, "Q": 1000},
    "LARGE": {"N": 1000000, "Q": 1000000},
    "EXTRALARGE": {"N": 4000000, "Q": 2000000},
}
OUTPUTS = ("return",)


def binary_search(a: po.f64["N"], queries: po.f64["Q"]):
    found = np.empty(len(queries), dtype=np.int64)
    for i in range(len(queries)):
        lo, hi = 0, len(a)
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < queries[i]:
                lo = mid + 1
            else:
                hi = mid
        found[i] = lo
    return found


def make(N, Q, dtype):
    return {"a": np.sort(normal(1, N, dtype)), "queries": normal(2, Q, dtype)}


def randomize(arguments, rng):
    arguments["queries"][:] = rng.uniform(-3, 3, arguments["queries"].shape)


def reference(a, queries):
    return {"return": np.searchsorted(a, queries)}
