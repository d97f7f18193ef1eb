"""simpson: integrals of sampled functions by Simpson's rule and by trapezoids."""

from __future__ import annotations

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"FUNCTIONS": 3, "N": 11},
    "SMALL": {"FUNCTIONS": 10, "N": 41},
    "MEDIUM": {"FUNCTIONS": 50, "N": 201},
    "LARGE": {"FUNCTIONS": 200, "N": 5001},
    "EXTRALARGE": {"FUNCTIONS": 500, "N": 20001},
}
OUTPUTS = ("return[0]", "return[1]")
LEAST = {"N": 3}


def simpson_numpy(y: po.f64["F,N"], dx: po.f64):
    simpson = dx / 3 * (y[:, 0:-2:2] + 4 * y[:, 1:-1:2] + y[:, 2::2]).sum(axis=1)
    trapezoid = dx * (y[:, 1:] + y[:, :-1]).sum(axis=1) / 2
    return simpson, trapezoid


def make(FUNCTIONS, N, dtype):
    N += 1 - N % 2
    return {"y": normal(1, (FUNCTIONS, N), dtype), "dx": 0.1}
