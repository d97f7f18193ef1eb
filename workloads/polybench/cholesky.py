"""cholesky: the lower triangle of A is overwritten by L with A = L transpose(L)."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 40},
    "SMALL": {"N": 120},
    "MEDIUM": {"N": 400},
    "LARGE": {"N": 2000},
    "EXTRALARGE": {"N": 4000},
}
OUTPUTS = ("A",)
DEFINITE = True


def cholesky(A: po.f64["N,N"]):
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def cholesky_numpy(A: po.f64["N,N"]):
    for j in range(A.shape[0]):
        A[j:, j] -= A[j:, :j] @ A[j, :j]
        A[j, j] = np.sqrt(A[j, j])
        A[j + 1 :, j] /= A[j, j]


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    lower = np.tril(1.0 - j / max(N, 1) + 0.0 * i, -1) + np.eye(N)
    return {"A": (lower @ lower.T).astype(dtype)}


def reference(A):
    return {"A": np.linalg.cholesky(A) + np.triu(A, 1)}


def flops(N):
    return (N - 1) * N * (N + 1) // 3 + N * (N - 1) // 2 + N


def chain(N):
    return 4 * N
