"""householder: QR factors of a matrix by reflections."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 8, "N": 6},
    "SMALL": {"M": 30, "N": 20},
    "MEDIUM": {"M": 80, "N": 60},
    "LARGE": {"M": 400, "N": 300},
    "EXTRALARGE": {"M": 1000, "N": 800},
}
OUTPUTS = ("return[0]", "return[1]")


def householder_numpy(A: po.f64["M,N"]):
    m, n = A.shape
    R = A.copy()
    Q = np.eye(m)
    for k in range(min(m - 1, n)):
        x = R[k:, k]
        norm = np.sqrt(np.sum(x**2))
        alpha = -norm if x[0] > 0 else norm
        v = x.copy()
        v[0] -= alpha
        length = np.sum(v**2)
        if length > 0:
            R[k:, k:] -= np.outer(v, 2.0 / length * (v @ R[k:, k:]))
            Q[:, k:] -= np.outer(Q[:, k:] @ v, 2.0 / length * v)
    return Q, R


def make(M, N, dtype):
    return {"A": normal(1, (M, N), dtype)}


def chain(M, N):
    return 1000 * (M + N + 8)
