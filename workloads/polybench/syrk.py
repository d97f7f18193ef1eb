"""syrk: the lower triangle of C = alpha A transpose(A) + beta C."""

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
OUTPUTS = ("C",)


def syrk(alpha: po.f64, beta: po.f64, C: po.f64["N,N"], A: po.f64["N,M"]):
    N, M = A.shape
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def syrk_numpy(alpha: po.f64, beta: po.f64, C: po.f64["N,N"], A: po.f64["N,M"]):
    for i in range(A.shape[0]):
        C[i, : i + 1] = beta * C[i, : i + 1] + alpha * (A[: i + 1] @ A[i])


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    r, c = np.ogrid[:N, :N]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": ((r * c + 2) % max(M, 1) / max(M, 1)).astype(dtype),
        "A": ((i * j + 1) % max(N, 1) / max(N, 1)).astype(dtype),
    }


def reference(alpha, beta, C, A):
    return {"C": np.tril(beta * C + alpha * (A @ A.T)) + np.triu(C, 1)}


def flops(M, N):
    return N * (N + 1) // 2 * (1 + 3 * M)


def chain(M, N):
    return M + 2
