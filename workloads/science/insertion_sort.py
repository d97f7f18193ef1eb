"""insertion-sort: an array into ascending order, each element to its place."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 12},
    "SMALL": {"N": 60},
    "MEDIUM": {"N": 400},
    "LARGE": {"N": 5000},
    "EXTRALARGE": {"N": 20000},
}
OUTPUTS = ("a",)


def insertion_sort(a: po.f64["N"]):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def make(N, dtype):
    return {"a": normal(1, N, dtype)}


def reference(a):
    return {"a": np.sort(a)}
