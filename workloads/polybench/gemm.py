"""gemm: C = alpha A B + beta C."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"NI": 20, "NJ": 25, "NK": 30},
    "SMALL": {"NI": 60, "NJ": 70, "NK": 80},
    "MEDIUM": {"NI": 200, "NJ": 220, "NK": 240},
    "LARGE": {"NI": 1000, "NJ": 1100, "NK": 1200},
    "EXTRALARGE": {"NI": 2000, "NJ": 2300, "NK": 2600},
}
OUTPUTS = ("C",)


def gemm(
    alpha: po.f64,
    beta: po.f64,
    C: po.f64["NI,NJ"],
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
):
    NI, NJ = C.shape
    NK = A.shape[1]
    for i in range(NI):
        for j in range(NJ):
            C[i, j] *= beta
        for k in range(NK):
            for j in range(NJ):
                C[i, j] += alpha * A[i, k] * B[k, j]


def gemm_numpy(
    alpha: po.f64,
    beta: po.f64,
    C: po.f64["NI,NJ"],
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
):
    C[:] = alpha * A @ B + beta * C


def make(NI, NJ, NK, dtype):
    def table(rows, cols, value, divisor):
        i, j = np.ogrid[:rows, :cols]
        return (value(i, j) % max(divisor, 1) / max(divisor, 1)).astype(dtype)

    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": table(NI, NJ, lambda i, j: i * j + 1, NI),
        "A": table(NI, NK, lambda i, k: i * (k + 1), NK),
        "B": table(NK, NJ, lambda k, j: k * (j + 2), NJ),
    }


def reference(alpha, beta, C, A, B):
    return {"C": beta * C + alpha * (A @ B)}


def flops(NI, NJ, NK):
    return NI * NJ * (1 + 3 * NK)


def chain(NI, NJ, NK):
    return NK + 2
