"""scan: inclusive prefix sums, by a running sum and by doubling strides."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 20},
    "SMALL": {"N": 200},
    "MEDIUM": {"N": 5000},
    "LARGE": {"N": 1000000},
    "EXTRALARGE": {"N": 4000000},
}
OUTPUTS = ("y",)


def scan(x: po.f64["N"], y: po.f64["N"]):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        y[i] = total


def scan_numpy(x: po.f64["N"], y: po.f64["N"]):
    y[:] = np.cumsum(x)


def make(N, dtype):
    return {"x": normal(1, N, dtype), "y": np.zeros(N, dtype)}
