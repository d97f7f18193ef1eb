"""lu-pivot: LU factors with rows exchanged for the largest pivot, then a solve."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6},
    "SMALL": {"N": 20},
    "MEDIUM": {"N": 80},
    "LARGE": {"N": 400},
    "EXTRALARGE": {"N": 1000},
}
OUTPUTS = ("A", "return")


def lu_pivot(A: po.f64["N,N"], b: po.f64["N"]):
    N = len(b)
    x = b.copy()
    for k in range(N):
        pivot = k
        for i in range(k + 1, N):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(N):
                kept = A[k, j]
                A[k, j] = A[pivot, j]
                A[pivot, j] = kept
            kept = x[k]
            x[k] = x[pivot]
            x[pivot] = kept
        for i in range(k + 1, N):
            A[i, k] /= A[k, k]
            for j in range(k + 1, N):
                A[i, j] -= A[i, k] * A[k, j]
    for i in range(N):
        for j in range(i):
            x[i] -= A[i, j] * x[j]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    return x


def lu_pivot_numpy(A: po.f64["N,N"], b: po.f64["N"]):
    N = b.shape[0]
    x = b.copy()
    for k in range(N):
        pivot = k + np.argmax(np.abs(A[k:, k]))
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            x[[k, pivot]] = x[[pivot, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    for i in range(N):
        x[i] -= A[i, :i] @ x[:i]
    for i in range(N - 1, -1, -1):
        x[i] = (x[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def make(N, dtype):
    return {"A": normal(1, (N, N), dtype), "b": normal(2, N, dtype)}


def chain(N):
    return 10_000 * (N + 8)
