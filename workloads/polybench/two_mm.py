"""2mm: D = alpha A B C + beta D."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"NI": 16, "NJ": 18, "NK": 22, "NL": 24},
    "SMALL": {"NI": 40, "NJ": 50, "NK": 70, "NL": 80},
    "MEDIUM": {"NI": 180, "NJ": 190, "NK": 210, "NL": 220},
    "LARGE": {"NI": 800, "NJ": 900, "NK": 1100, "NL": 1200},
    "EXTRALARGE": {"NI": 1600, "NJ": 1800, "NK": 2200, "NL": 2400},
}
NAME = "2mm"
OUTPUTS = ("D",)


def two_mm(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
    C: po.f64["NJ,NL"],
    D: po.f64["NI,NL"],
):
    NI, NK = A.shape
    NJ, NL = C.shape
    tmp = np.empty((NI, NJ), dtype=A.dtype)
    for i in range(NI):
        for j in range(NJ):
            tmp[i, j] = 0.0
            for k in range(NK):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(NI):
        for j in range(NL):
            D[i, j] *= beta
            for k in range(NJ):
                D[i, j] += tmp[i, k] * C[k, j]


def two_mm_numpy(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
    C: po.f64["NJ,NL"],
    D: po.f64["NI,NL"],
):
    D[:] = alpha * A @ B @ C + beta * D


def make(NI, NJ, NK, NL, dtype):
    def table(rows, cols, value, divisor):
        i, j = np.ogrid[:rows, :cols]
        return (value(i, j) % max(divisor, 1) / max(divisor, 1)).astype(dtype)

    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": table(NI, NK, lambda i, k: i * k + 1, NI),
        "B": table(NK, NJ, lambda k, j: k * (j + 1), NJ),
        "C": table(NJ, NL, lambda j, m: j * (m + 3) + 1, NL),
        "D": table(NI, NL, lambda i, m: i * (m + 2), NK),
    }


def reference(alpha, beta, A, B, C, D):
    return {"D": beta * D + alpha * (A @ B) @ C}


def flops(NI, NJ, NK, NL):
    return NI * NJ * 3 * NK + NI * NL * (1 + 2 * NJ)


def chain(NI, NJ, NK, NL):
    return NK + NJ + 3
