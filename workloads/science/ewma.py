"""ewma: exponentially weighted mean and variance of many series."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 20, "SERIES": 4},
    "SMALL": {"N": 100, "SERIES": 10},
    "MEDIUM": {"N": 500, "SERIES": 50},
    "LARGE": {"N": 2000, "SERIES": 500},
    "EXTRALARGE": {"N": 5000, "SERIES": 1000},
}
OUTPUTS = ("return[0]", "return[1]")


def ewma_numpy(x: po.f64["N,S"], alpha: po.f64):
    mean = np.zeros_like(x)
    variance = np.zeros_like(x)
    if x.shape[0] > 0:
        mean[0] = x[0]
    for t in range(1, x.shape[0]):
        delta = x[t] - mean[t - 1]
        mean[t] = mean[t - 1] + alpha * delta
        variance[t] = (1 - alpha) * (variance[t - 1] + alpha * delta**2)
    return mean, variance


def make(N, SERIES, dtype):
    return {"x": normal(1, (N, SERIES), dtype), "alpha": 0.1}
