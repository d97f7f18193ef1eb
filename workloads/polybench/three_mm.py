"""3mm: G = (A B) (C D)."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"NI": 16, "NJ": 18, "NK": 20, "NL": 22, "NM": 24},
    "SMALL": {"NI": 40, "NJ": 50, "NK": 60, "NL": 70, "NM": 80},
    "MEDIUM": {"NI": 180, "NJ": 190, "NK": 200, "NL": 210, "NM": 220},
    "LARGE": {"NI": 800, "NJ": 900, "NK": 1000, "NL": 1100, "NM": 1200},
    "EXTRALARGE": {"NI": 1600, "NJ": 1800, "NK": 2000, "NL": 2200, "NM": 2400},
}
NAME = "3mm"
OUTPUTS = ("G",)


def three_mm(
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
    C: po.f64["NJ,NM"],
    D: po.f64["NM,NL"],
    G: po.f64["NI,NL"],
):
    NI, NK = A.shape
    NJ, NM = C.shape
    NL = D.shape[1]
    E = np.empty((NI, NJ), dtype=A.dtype)
    F = np.empty((NJ, NL), dtype=C.dtype)
    for i in range(NI):
        for j in range(NJ):
            E[i, j] = 0.0
            for k in range(NK):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(NJ):
        for j in range(NL):
            F[i, j] = 0.0
            for k in range(NM):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(NI):
        for j in range(NL):
            G[i, j] = 0.0
            for k in range(NJ):
                G[i, j] += E[i, k] * F[k, j]


def three_mm_numpy(
    A: po.f64["NI,NK"],
    B: po.f64["NK,NJ"],
    C: po.f64["NJ,NM"],
    D: po.f64["NM,NL"],
    G: po.f64["NI,NL"],
):
    G[:] = (A @ B) @ (C @ D)


def make(NI, NJ, NK, NL, NM, dtype):
    def table(rows, cols, value, divisor):
        i, j = np.ogrid[:rows, :cols]
        return (value(i, j) % max(divisor, 1) / (5 * max(divisor, 1))).astype(dtype)

    return {
        "A": table(NI, NK, lambda i, k: i * k + 1, NI),
        "B": table(NK, NJ, lambda k, j: k * (j + 1) + 2, NJ),
        "C": table(NJ, NM, lambda j, m: j * (m + 3), NL),
        "D": table(NM, NL, lambda m, n: m * (n + 2) + 2, NK),
        "G": np.zeros((NI, NL), dtype),
    }


def reference(A, B, C, D, G):
    return {"G": (A @ B) @ (C @ D)}


def flops(NI, NJ, NK, NL, NM):
    return 2 * (NI * NJ * NK + NJ * NL * NM + NI * NL * NJ)


def chain(NI, NJ, NK, NL, NM):
    return NK + NM + NJ
