"""lu: A is overwritten by its factors L (unit diagonal, below) and U (above), without pivoting."""

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


def lu(A: po.f64["N,N"]):
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def lu_numpy(A: po.f64["N,N"]):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    lower = np.tril(1.0 - j / max(N, 1) + 0.0 * i, -1) + np.eye(N)
    return {"A": (lower @ lower.T).astype(dtype)}


def reference(A):
    """Factor block column by block column, so that nearly all work is matrix products."""
    A = A.copy()
    N, width = len(A), 64
    for start in range(0, N, width):
        end = min(start + width, N)
        for k in range(start, end):
            A[k + 1 :, k] /= A[k, k]
            A[k + 1 :, k + 1 : end] -= np.outer(A[k + 1 :, k], A[k, k + 1 : end])
        for k in range(start, end):
            A[k + 1 : end, end:] -= np.outer(A[k + 1 : end, k], A[k, end:])
        A[end:, end:] -= A[end:, start:end] @ A[start:end, end:]
    return {"A": A}


def flops(N):
    return N * (N - 1) // 2 + (N - 1) * N * (2 * N - 1) // 3


def chain(N):
    return 4 * N
