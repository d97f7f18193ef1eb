"""trisolv: solve L x = b, L being lower triangular."""

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
OUTPUTS = ("x",)
DEFINITE = True


def trisolv(L: po.f64["N,N"], x: po.f64["N"], b: po.f64["N"]):
    N = L.shape[0]
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def trisolv_numpy(L: po.f64["N,N"], x: po.f64["N"], b: po.f64["N"]):
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    L = np.where(j <= i, (i + N - j + 1) * 2.0 / max(N, 1), 0.0)
    return {
        "L": L.astype(dtype),
        "x": np.full(N, -999.0, dtype),
        "b": np.arange(N).astype(dtype),
    }


def reference(L, x, b):
    return {"x": np.linalg.solve(np.tril(L), b)}


def flops(N):
    return N * (N - 1) + N


def chain(N):
    return 40 * N
