"""wave2d: leapfrog steps of the wave equation in a box, three time levels in rotation."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 12, "STEPS": 5},
    "SMALL": {"N": 40, "STEPS": 10},
    "MEDIUM": {"N": 120, "STEPS": 20},
    "LARGE": {"N": 500, "STEPS": 100},
    "EXTRALARGE": {"N": 1500, "STEPS": 100},
}
OUTPUTS = ("return",)
STEPS = "STEPS"


def wave2d(u0: po.f64["N,N"], v0: po.f64["N,N"], c: po.f64, steps: int):
    N = u0.shape[0]
    u = np.zeros((3, N, N))
    for i in range(N):
        for j in range(N):
            u[0, i, j] = u0[i, j]
            u[1, i, j] = u0[i, j] + v0[i, j]
    for t in range(steps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                lap = -4 * u[(t + 1) % 3, i, j]
                lap += u[(t + 1) % 3, i - 1, j] + u[(t + 1) % 3, i + 1, j]
                lap += u[(t + 1) % 3, i, j - 1] + u[(t + 1) % 3, i, j + 1]
                u[(t + 2) % 3, i, j] = 2 * u[(t + 1) % 3, i, j] - u[t % 3, i, j] + c * lap
    return u[(steps + 1) % 3]


def wave2d_numpy(u0: po.f64["N,N"], v0: po.f64["N,N"], c: po.f64, steps: int):
    previous = u0.copy()
    current = u0 + v0
    for _ in range(steps):
        following = np.zeros_like(current)
        following[1:-1, 1:-1] = (
            2 * current[1:-1, 1:-1]
            - previous[1:-1, 1:-1]
            + c
            * (
                current[:-2, 1:-1]
                + current[2:, 1:-1]
                + current[1:-1, :-2]
                + current[1:-1, 2:]
                - 4 * current[1:-1, 1:-1]
            )
        )
        previous, current = current, following
    return current


def make(N, STEPS, dtype):
    inside = np.pad(normal(1, (max(N - 2, 0),) * 2, dtype), 1) if N > 1 else np.zeros((N, N), dtype)
    return {"u0": inside, "v0": np.zeros((N, N), dtype), "c": 0.2, "steps": STEPS}


def randomize(arguments, rng):
    u0 = arguments["u0"]
    u0[1:-1, 1:-1] = rng.uniform(-1.0, 1.0, u0[1:-1, 1:-1].shape)


def chain(N, STEPS):
    return 100 * STEPS
