"""trmm: B = alpha transpose(A) B, A being lower triangular with ones on its diagonal."""

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
OUTPUTS = ("B",)


def trmm(alpha: po.f64, A: po.f64["M,M"], B: po.f64["M,N"]):
    M, N = B.shape
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha


def trmm_numpy(alpha: po.f64, A: po.f64["M,M"], B: po.f64["M,N"]):
    for i in range(A.shape[0]):
        B[i] = alpha * (B[i] + A[i + 1 :, i] @ B[i + 1 :])


def make(M, N, dtype):
    i, k = np.ogrid[:M, :M]
    r, j = np.ogrid[:M, :N]
    lower = np.tril((i + k) % max(M, 1) / max(M, 1), -1)
    return {
        "alpha": 1.5,
        "A": (lower + np.eye(M)).astype(dtype),
        # C's remainder: the sign of the left operand
        "B": (np.fmod(N + (r - j), max(N, 1)) / max(N, 1)).astype(dtype),
    }


def reference(alpha, A, B):
    return {"B": alpha * (B + np.tril(A, -1).T @ B)}


def flops(M, N):
    return N * (M * (M - 1) + M)


def chain(M, N):
    return M + 1
