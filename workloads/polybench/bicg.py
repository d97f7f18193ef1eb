"""bicg: s = transpose(A) r and q = A p, the two products of a biconjugate gradient step."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"M": 38, "N": 42},
    "SMALL": {"M": 116, "N": 124},
    "MEDIUM": {"M": 390, "N": 410},
    "LARGE": {"M": 1900, "N": 2100},
    "EXTRALARGE": {"M": 1800, "N": 2200},
}
OUTPUTS = ("s", "q")


def bicg(
    A: po.f64["N,M"],
    s: po.f64["M"],
    q: po.f64["N"],
    p: po.f64["M"],
    r: po.f64["N"],
):
    N, M = A.shape
    for i in range(M):
        s[i] = 0.0
    for i in range(N):
        q[i] = 0.0
        for j in range(M):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


def bicg_numpy(
    A: po.f64["N,M"],
    s: po.f64["M"],
    q: po.f64["N"],
    p: po.f64["M"],
    r: po.f64["N"],
):
    s[:] = r @ A
    q[:] = A @ p


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    return {
        "A": (i * (j + 1) % max(N, 1) / max(N, 1)).astype(dtype),
        "s": np.zeros(M, dtype),
        "q": np.zeros(N, dtype),
        "p": (np.arange(M) / max(M, 1)).astype(dtype),
        "r": (np.arange(N) / max(N, 1)).astype(dtype),
    }


def reference(A, s, q, p, r):
    return {"s": A.T @ r, "q": A @ p}


def flops(M, N):
    return 4 * M * N


def chain(M, N):
    return max(M, N)
