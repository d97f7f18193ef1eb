"""syr2k: C = alpha A transpose(B) + alpha B transpose(A) + beta C, on and below the diagonal."""

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


def syr2k(alpha: po.f64, beta: po.f64, C: po.f64["N,N"], A: po.f64["N,M"], B: po.f64["N,M"]):
    N, M = A.shape
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


def syr2k_numpy(alpha: po.f64, beta: po.f64, C: po.f64["N,N"], A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        C[i, : i + 1] += alpha * (A[: i + 1] @ B[i] + B[: i + 1] @ A[i])


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    r, c = np.ogrid[:N, :N]
    m, n = max(M, 1), max(N, 1)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": ((r * c + 3) % n / m).astype(dtype),
        "A": ((i * j + 1) % n / n).astype(dtype),
        "B": ((i * j + 2) % m / m).astype(dtype),
    }


def reference(alpha, beta, C, A, B):
    half = A @ B.T
    return {"C": np.triu(C, 1) + np.tril(beta * C + alpha * (half + half.T))}


def flops(M, N):
    return N * (N + 1) // 2 * (1 + 6 * M)


def chain(M, N):
    return 2 * M + 4
