"""bubble-sort: an array into ascending order by exchanging neighbours."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 12},
    "SMALL": {"N": 60},
    "MEDIUM": {"N": 300},
    "LARGE": {"N": 2000},
    "EXTRALARGE": {"N": 8000},
}
OUTPUTS = ("a", "return")
DTYPE = np.int64


def bubble_sort(a: po.i64["N"]):
    n = len(a)
    swaps = 0
    for i in range(n - 1):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
                swaps += 1
        if not swapped:
            break
    return swaps


def make(N, dtype):
    return {"a": integers(1, 1000, N).astype(dtype)}
