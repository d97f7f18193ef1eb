"""newton: cube roots and the steps they took, each stopping on its own."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 10},
    "SMALL": {"N": 100},
    "MEDIUM": {"N": 5000},
    "LARGE": {"N": 500000},
    "EXTRALARGE": {"N": 2000000},
}
OUTPUTS = ("return[0]", "return[1]")


def newton(a: po.f64["N"], tolerance: po.f64, most: int):
    roots = np.empty_like(a)
    steps = np.zeros(a.shape, dtype=np.int64)
    for i in range(a.size):
        x = a[i]
        for k in range(most):
            dx = (x**3 - a[i]) / (3.0 * x * x)
            x -= dx
            steps[i] = k + 1
            if abs(dx) < tolerance:
                break
        roots[i] = x
    return roots, steps


def make(N, dtype):
    return {"a": positive(1, N, dtype) * 5, "tolerance": 1e-10, "most": 50}


def randomize(arguments, rng):
    arguments["a"][:] = rng.uniform(1, 10, arguments["a"].shape)
