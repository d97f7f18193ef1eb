"""monte-carlo-pi: the share of given random points that lie inside the circle."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 40},
    "SMALL": {"N": 400},
    "MEDIUM": {"N": 10000},
    "LARGE": {"N": 2000000},
    "EXTRALARGE": {"N": 8000000},
}
OUTPUTS = ("return",)
LEAST = {"N": 1}


def monte_carlo_pi(x: po.f64["N"], y: po.f64["N"]):
    inside = 0
    for i in range(len(x)):
        if x[i] ** 2 + y[i] ** 2 < 1.0:
            inside += 1
    return 4.0 * inside / len(x)


def monte_carlo_pi_numpy(x: po.f64["N"], y: po.f64["N"]):
    return 4.0 * np.count_nonzero(x**2 + y**2 < 1.0) / x.size


def make(N, dtype):
    rng = np.random.default_rng(1)
    return {"x": rng.uniform(-1, 1, N).astype(dtype), "y": rng.uniform(-1, 1, N).astype(dtype)}
