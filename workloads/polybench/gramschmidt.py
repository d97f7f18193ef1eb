"""gramschmidt: A = Q R by the modified Gram-Schmidt process.

The published matrix has fewer rows than columns, and less than full rank: no result could be
checked.  Here A has N rows and M columns and a larger diagonal.
"""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"M": 20, "N": 30},
    "SMALL": {"M": 60, "N": 80},
    "MEDIUM": {"M": 200, "N": 240},
    "LARGE": {"M": 1000, "N": 1200},
    "EXTRALARGE": {"M": 2000, "N": 2600},
}
OUTPUTS = ("A", "Q", "R")


def gramschmidt(A: po.f64["N,M"], Q: po.f64["N,M"], R: po.f64["M,M"]):
    N, M = A.shape
    for k in range(M):
        nrm = 0.0
        for i in range(N):
            nrm += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(nrm)
        for i in range(N):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, M):
            R[k, j] = 0.0
            for i in range(N):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(N):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]


def gramschmidt_numpy(A: po.f64["N,M"], Q: po.f64["N,M"], R: po.f64["M,M"]):
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    m = max(M, 1)
    A = i * j % m / m * 100.0 + 10.0 + 100.0 * m * (i == j)
    return {
        "A": A.astype(dtype),
        "Q": np.zeros((N, M), dtype),
        "R": np.zeros((M, M), dtype),
    }


def randomize(arguments, rng):
    for value in arguments.values():
        value[...] = rng.uniform(-1.0, 1.0, value.shape)
    A = arguments["A"]
    A += 2.0 * len(A) * np.eye(*A.shape)


def flops(M, N):
    return M * (1 + 3 * N) + 4 * N * (M * (M - 1) // 2)


def chain(M, N):
    return 8 * (M + N)
