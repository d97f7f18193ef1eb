"""gauss-elimination: an augmented system to triangular form and back, pivots as they come."""

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
OUTPUTS = ("return",)
DEFINITE = True


def gauss_elimination_numpy(A: po.f64["N,N"], b: po.f64["N"]):
    n = len(b)
    M = np.hstack([A, b[:, np.newaxis]])
    for i in range(n):
        M[i] = M[i] / M[i, i]
        for j in range(i + 1, n):
            M[j] -= M[i] * M[j, i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = M[i, n] - M[i, i + 1 : n].dot(x[i + 1 : n])
    return x


def make(N, dtype):
    B = normal(1, (N, N), dtype)
    return {"A": B @ B.T + N * np.eye(N, dtype=dtype), "b": normal(2, N, dtype)}


def chain(N):
    return 1000 * (N + 8)
