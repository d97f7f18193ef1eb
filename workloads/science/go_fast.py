"""go-fast: a matrix plus the sum of the hyperbolic tangents of its diagonal."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10},
    "SMALL": {"N": 60},
    "MEDIUM": {"N": 300},
    "LARGE": {"N": 3000},
    "EXTRALARGE": {"N": 8000},
}
OUTPUTS = ("return",)
EXACT = False


def go_fast_numpy(a: po.f64["N,N"]):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def make(N, dtype):
    return {"a": normal(1, (N, N), dtype)}
