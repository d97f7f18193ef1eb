"""ludcmp: solve A x = b by factors L and U, a forward and a backward substitution."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.polybench import lu

SIZES = {
    "MINI": {"N": 40},
    "SMALL": {"N": 120},
    "MEDIUM": {"N": 400},
    "LARGE": {"N": 2000},
    "EXTRALARGE": {"N": 4000},
}
OUTPUTS = ("A", "x", "y")
DEFINITE = True


def ludcmp(A: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"], y: po.f64["N"]):
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, N):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(N):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(N - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, N):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def ludcmp_numpy(A: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"], y: po.f64["N"]):
    N = A.shape[0]
    for i in range(N):
        A[i, i:] -= A[i, :i] @ A[:i, i:]
        A[i + 1 :, i] = (A[i + 1 :, i] - A[i + 1 :, :i] @ A[:i, i]) / A[i, i]
    for i in range(N):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(N - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]


def make(N, dtype):
    return {
        "A": lu.make(N, dtype)["A"],
        "b": ((np.arange(N) + 1) / max(N, 1) / 2.0 + 4.0).astype(dtype),
        "x": np.zeros(N, dtype),
        "y": np.zeros(N, dtype),
    }


def reference(A, b, x, y):
    factors = lu.reference(A)["A"]
    lower = np.tril(factors, -1) + np.eye(len(A), dtype=A.dtype)
    y = np.linalg.solve(lower, b)
    return {"A": factors, "x": np.linalg.solve(np.triu(factors), y), "y": y}


def flops(N):
    return lu.flops(N) + 2 * N * (N - 1) + N


def chain(N):
    return 8 * N
