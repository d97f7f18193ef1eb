"""rolling: mean and deviation in a window that slides over a series."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 40, "WINDOW": 5},
    "SMALL": {"N": 400, "WINDOW": 7},
    "MEDIUM": {"N": 5000, "WINDOW": 20},
    "LARGE": {"N": 1000000, "WINDOW": 50},
    "EXTRALARGE": {"N": 4000000, "WINDOW": 100},
}
OUTPUTS = ("return[0]", "return[1]")
LEAST = {"N": 12, "WINDOW": 3}


def rolling(x: po.f64["N"], window: int):
    n = len(x) - window + 1
    means = np.zeros(n)
    deviations = np.zeros(n)
    total = 0.0
    squares = 0.0
    for i in range(window):
        total += x[i]
        squares += x[i] * x[i]
    for i in range(n):
        means[i] = total / window
        deviations[i] = math.sqrt(max(squares / window - means[i] * means[i], 0.0))
        if i < n - 1:
            total += x[i + window] - x[i]
            squares += x[i + window] * x[i + window] - x[i] * x[i]
    return means, deviations


def rolling_numpy(x: po.f64["N"], window: int):
    c = np.cumsum(np.concatenate(([0.0], x)))
    s = np.cumsum(np.concatenate(([0.0], x * x)))
    means = (c[window:] - c[:-window]) / window
    squares = (s[window:] - s[:-window]) / window
    return means, np.sqrt(np.maximum(squares - means**2, 0.0))


def make(N, WINDOW, dtype):
    return {"x": normal(1, N, dtype), "window": WINDOW}


def chain(N, WINDOW):
    return 10_000_000_000  # small variances are differences of large sums
