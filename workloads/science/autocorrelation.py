"""autocorrelation: of a signal without its mean, up to a largest lag."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 40, "LAGS": 5},
    "SMALL": {"N": 400, "LAGS": 20},
    "MEDIUM": {"N": 3000, "LAGS": 100},
    "LARGE": {"N": 100000, "LAGS": 200},
    "EXTRALARGE": {"N": 1000000, "LAGS": 200},
}
OUTPUTS = ("return",)
LEAST = {"N": 1}


def autocorrelation_numpy(x: po.f64["N"], lags: int):
    n = len(x)
    y = x - x.mean()
    variance = np.dot(y, y) / n
    r = np.zeros(lags)
    for k in range(lags):
        if k < n:
            r[k] = np.dot(y[: n - k], y[k:]) / n / variance
    return r


def make(N, LAGS, dtype):
    return {"x": normal(1, N, dtype), "lags": LAGS}


def chain(N, LAGS):
    return 1000 * (N + 8)
