"""atax: y = transpose(A) (A x)."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"M": 38, "N": 42},
    "SMALL": {"M": 116, "N": 124},
    "MEDIUM": {"M": 390, "N": 410},
    "LARGE": {"M": 1900, "N": 2100},
    "EXTRALARGE": {"M": 1800, "N": 2200},
}
OUTPUTS = ("y",)


def atax(A: po.f64["M,N"], x: po.f64["N"], y: po.f64["N"]):
    M, N = A.shape
    tmp = np.empty(M, dtype=A.dtype)
    for i in range(N):
        y[i] = 0.0
    for i in range(M):
        tmp[i] = 0.0
        for j in range(N):
            tmp[i] += A[i, j] * x[j]
        for j in range(N):
            y[j] += A[i, j] * tmp[i]


def atax_numpy(A: po.f64["M,N"], x: po.f64["N"], y: po.f64["N"]):
    y[:] = A.T @ (A @ x)


def make(M, N, dtype):
    i, j = np.ogrid[:M, :N]
    return {
        "A": ((i + j) % max(N, 1) / (5 * max(M, 1))).astype(dtype),
        "x": (1 + np.arange(N) / max(N, 1)).astype(dtype),
        "y": np.zeros(N, dtype),
    }


def reference(A, x, y):
    return {"y": (A @ x) @ A}


def flops(M, N):
    return 4 * M * N


def chain(M, N):
    return M + N
