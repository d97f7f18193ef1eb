"""conjugate-gradient: solve a positive definite system, stop when the residual is small."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 8},
    "SMALL": {"N": 30},
    "MEDIUM": {"N": 100},
    "LARGE": {"N": 1000},
    "EXTRALARGE": {"N": 3000},
}
OUTPUTS = ("return",)


def conjugate_gradient_numpy(A: po.f64["N,N"], b: po.f64["N"], tolerance: po.f64, most: int):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs_old = r @ r
    for _ in range(most):
        if np.sqrt(rs_old) < tolerance:
            break
        Ap = A @ p
        alpha = rs_old / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs_old) * p
        rs_old = rs_new
    return x


def make(N, dtype):
    B = normal(1, (N, N), dtype)
    return {
        "A": B @ B.T / max(N, 1) + 2 * np.eye(N, dtype=dtype),
        "b": normal(2, N, dtype),
        "tolerance": 1e-13,
        "most": 200,
    }


def randomize(arguments, rng):
    arguments["b"][:] = rng.uniform(-1, 1, arguments["b"].shape)


def reference(A, b, tolerance, most):
    return {"return": np.linalg.solve(A, b)}


def chain(N):
    return 10_000 * (N + 10)
