"""mvt: x1 += A y1 and x2 += transpose(A) y2."""

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
OUTPUTS = ("x1", "x2")


def mvt(
    x1: po.f64["N"],
    x2: po.f64["N"],
    y1: po.f64["N"],
    y2: po.f64["N"],
    A: po.f64["N,N"],
):
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            x1[i] += A[i, j] * y1[j]
    for i in range(N):
        for j in range(N):
            x2[i] += A[j, i] * y2[j]


def mvt_numpy(
    x1: po.f64["N"],
    x2: po.f64["N"],
    y1: po.f64["N"],
    y2: po.f64["N"],
    A: po.f64["N,N"],
):
    x1 += A @ y1
    x2 += A.T @ y2


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    row = np.arange(N)
    divisor = max(N, 1)
    return {
        "x1": (row % divisor / divisor).astype(dtype),
        "x2": ((row + 1) % divisor / divisor).astype(dtype),
        "y1": ((row + 3) % divisor / divisor).astype(dtype),
        "y2": ((row + 4) % divisor / divisor).astype(dtype),
        "A": (i * j % divisor / divisor).astype(dtype),
    }


def reference(x1, x2, y1, y2, A):
    return {"x1": x1 + A @ y1, "x2": x2 + y2 @ A}


def flops(N):
    return 4 * N * N


def chain(N):
    return N + 1
