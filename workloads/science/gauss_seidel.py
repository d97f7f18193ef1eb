"""gauss-seidel: sweeps over a linear system until the solution stands still."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 8},
    "SMALL": {"N": 30},
    "MEDIUM": {"N": 100},
    "LARGE": {"N": 800},
    "EXTRALARGE": {"N": 2000},
}
OUTPUTS = ("x", "return")


def gauss_seidel(A: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"], tolerance: po.f64, most: int):
    N = len(b)
    sweeps = 0
    error = tolerance + 1.0
    while error > tolerance and sweeps < most:
        error = 0.0
        for i in range(N):
            total = b[i]
            for j in range(N):
                if j != i:
                    total -= A[i, j] * x[j]
            new = total / A[i, i]
            error = max(error, abs(new - x[i]))
            x[i] = new
        sweeps += 1
    return sweeps


def gauss_seidel_numpy(
    A: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"], tolerance: po.f64, most: int
):
    for sweep in range(most):
        old = x.copy()
        for i in range(b.shape[0]):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        if np.allclose(x, old, rtol=0.0, atol=tolerance):
            return sweep + 1
    return most


def make(N, dtype):
    A = normal(1, (N, N), dtype) + 3 * N * np.eye(N, dtype=dtype)
    return {
        "A": A,
        "b": normal(2, N, dtype),
        "x": np.zeros(N, dtype),
        "tolerance": 1e-7 * math.pi / 3,
        "most": 50,
    }


def randomize(arguments, rng):
    arguments["b"][:] = rng.uniform(-1, 1, arguments["b"].shape)


def reference(A, b, x, tolerance, most):
    x = x.copy()
    for sweep in range(1, most + 1):
        old = x.copy()
        for i in range(len(b)):
            x[i] += (b[i] - A[i] @ x) / A[i, i]
        if np.abs(x - old).max(initial=0.0) <= tolerance:
            return {"x": x, "return": np.asarray(sweep)}
    return {"x": x, "return": np.asarray(most)}


def chain(N):
    return 100 * (N + 10)
