"""linear-regression: slope, intercept, correlation and the standard error of the slope."""

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
OUTPUTS = ("return",)
LEAST = {"N": 3}


def linear_regression_numpy(x: po.f64["N"], y: po.f64["N"]):
    n = x.size
    xm, ym = x.mean(), y.mean()
    sxx = ((x - xm) ** 2).sum()
    sxy = ((x - xm) * (y - ym)).sum()
    syy = ((y - ym) ** 2).sum()
    slope = sxy / sxx
    r = sxy / np.sqrt(sxx * syy)
    error = np.sqrt((1 - r**2) * syy / sxx / (n - 2))
    return np.array([slope, ym - slope * xm, r, error])


def make(N, dtype):
    x = normal(1, N, dtype)
    return {"x": x, "y": 2 * x + 1 + normal(2, N, dtype, 0.5)}


def randomize(arguments, rng):
    x = arguments["x"]
    x[:] = rng.uniform(-1, 1, x.shape)
    arguments["y"][:] = 3 * x - 1 + rng.uniform(-1, 1, x.shape)


def chain(N):
    return 10_000 * (N + 8)
