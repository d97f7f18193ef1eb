"""power-iteration: the largest eigenvalue and its vector."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 8, "STEPS": 10},
    "SMALL": {"N": 30, "STEPS": 20},
    "MEDIUM": {"N": 100, "STEPS": 30},
    "LARGE": {"N": 1000, "STEPS": 50},
    "EXTRALARGE": {"N": 3000, "STEPS": 50},
}
OUTPUTS = ("return[0]", "return[1]")
STEPS = "STEPS"
LEAST = {"N": 1}


def power_iteration_numpy(A: po.f64["N,N"], v: po.f64["N"], steps: int):
    x = v / np.linalg.norm(v)
    for _ in range(steps):
        y = A @ x
        x = y / np.linalg.norm(y)
    value = x @ A @ x
    return value, x


def make(N, STEPS, dtype):
    A = positive(1, (N, N), dtype)
    return {"A": A + A.T, "v": positive(2, N, dtype), "steps": STEPS}


def randomize(arguments, rng):
    A = rng.uniform(0.5, 1.5, arguments["A"].shape)
    arguments["A"][...] = A + A.T


def chain(N, STEPS):
    return 100 * STEPS * (N + 8)
