"""gesummv: y = alpha A x + beta B x."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 30},
    "SMALL": {"N": 90},
    "MEDIUM": {"N": 250},
    "LARGE": {"N": 1300},
    "EXTRALARGE": {"N": 2800},
}
OUTPUTS = ("y",)


def gesummv(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["N,N"],
    B: po.f64["N,N"],
    x: po.f64["N"],
    y: po.f64["N"],
):
    N = A.shape[0]
    tmp = np.empty(N, dtype=A.dtype)
    for i in range(N):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(N):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]


def gesummv_numpy(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["N,N"],
    B: po.f64["N,N"],
    x: po.f64["N"],
    y: po.f64["N"],
):
    y[:] = alpha * A @ x + beta * B @ x


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    n = max(N, 1)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": ((i * j + 1) % n / n).astype(dtype),
        "B": ((i * j + 2) % n / n).astype(dtype),
        "x": (np.arange(N) % n / n).astype(dtype),
        "y": np.zeros(N, dtype),
    }


def reference(alpha, beta, A, B, x, y):
    return {"y": alpha * (A @ x) + beta * (B @ x)}


def flops(N):
    return 4 * N * N + 3 * N


def chain(N):
    return 2 * N + 3
