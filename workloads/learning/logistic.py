"""logistic: gradient steps of a logistic regression."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"N": 10, "D": 4, "steps": 2},
    "SMALL": {"N": 60, "D": 8, "steps": 3},
    "MEDIUM": {"N": 400, "D": 20, "steps": 4},
    "LARGE": {"N": 20000, "D": 128, "steps": 5},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"N": 1}
STEPS = "steps"


def logistic_numpy(X: po.f32["N,D"], y: po.f32["N"], w: po.f32["D"], steps: int, rate: float):
    n = X.shape[0]
    w = w.copy()
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-(X @ w)))
        grad = X.T @ (p - y) / n
        w -= rate * grad
    return w


def make(N, D, steps, dtype):
    return {
        "X": normal(1, (N, D), dtype),
        "y": integers(2, 2, N).astype(dtype),
        "w": normal(3, (D,), dtype),
        "steps": steps,
        "rate": 0.1,
    }


def flops(N, D, steps):
    return steps * N * (4 * D + 5)


def chain(N, D, steps):
    return 4 * steps * (N + D) + 20
