"""jacobi-eigen: eigenvalues of a symmetric matrix by sweeps of rotations."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 5, "STEPS": 2},
    "SMALL": {"N": 12, "STEPS": 4},
    "MEDIUM": {"N": 30, "STEPS": 5},
    "LARGE": {"N": 100, "STEPS": 6},
    "EXTRALARGE": {"N": 200, "STEPS": 6},
}
OUTPUTS = ("return",)
STEPS = "STEPS"


def jacobi_eigen(A: po.f64["N,N"], steps: int):
    N = A.shape[0]
    B = A.copy()
    for _ in range(steps):
        for p in range(N - 1):
            for q in range(p + 1, N):
                if abs(B[p, q]) > 1e-300:
                    theta = (B[q, q] - B[p, p]) / (2.0 * B[p, q])
                    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                    if theta < 0.0:
                        t = -t
                    c = 1.0 / math.sqrt(t * t + 1.0)
                    s = t * c
                    for k in range(N):
                        x, y = B[k, p], B[k, q]
                        B[k, p] = c * x - s * y
                        B[k, q] = s * x + c * y
                    for k in range(N):
                        x, y = B[p, k], B[q, k]
                        B[p, k] = c * x - s * y
                        B[q, k] = s * x + c * y
    values = np.zeros(N)
    for i in range(N):
        values[i] = B[i, i]
    return values


def make(N, STEPS, dtype):
    A = normal(1, (N, N), dtype)
    return {"A": A + A.T, "steps": STEPS}


def randomize(arguments, rng):
    A = rng.uniform(-1, 1, arguments["A"].shape)
    arguments["A"][...] = A + A.T
