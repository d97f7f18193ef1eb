"""symm: C = alpha A B + beta C, A being symmetric and stored below its diagonal."""

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


def symm(alpha: po.f64, beta: po.f64, C: po.f64["M,N"], A: po.f64["M,M"], B: po.f64["M,N"]):
    M, N = C.shape
    for i in range(M):
        for j in range(N):
            temp2 = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2


def symm_numpy(alpha: po.f64, beta: po.f64, C: po.f64["M,N"], A: po.f64["M,M"], B: po.f64["M,N"]):
    C *= beta
    for i in range(C.shape[0]):
        C[:i] += alpha * np.outer(A[i, :i], B[i])
        C[i] += alpha * (A[i, i] * B[i] + A[i, :i] @ B[:i])


def make(M, N, dtype):
    i, j = np.ogrid[:M, :N]
    r, c = np.ogrid[:M, :M]
    m = max(M, 1)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": ((i + j) % 100 / m).astype(dtype),
        "A": np.where(c <= r, (r + c) % 100 / m, -999.0).astype(dtype),
        "B": ((N + i - j) % 100 / m).astype(dtype),
    }


def reference(alpha, beta, C, A, B):
    whole = np.tril(A) + np.tril(A, -1).T
    return {"C": beta * C + alpha * (whole @ B)}


def flops(M, N):
    return N * (6 * M + 5 * (M * (M - 1) // 2))


def chain(M, N):
    return 2 * M + 4
