"""doitgen: every vector A[r, q, :] is multiplied by the matrix C4 (multiresolution analysis)."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"NQ": 8, "NR": 10, "NP": 12},
    "SMALL": {"NQ": 20, "NR": 25, "NP": 30},
    "MEDIUM": {"NQ": 40, "NR": 50, "NP": 60},
    "LARGE": {"NQ": 140, "NR": 150, "NP": 160},
    "EXTRALARGE": {"NQ": 220, "NR": 250, "NP": 270},
}
OUTPUTS = ("A",)


def doitgen(A: po.f64["NR,NQ,NP"], C4: po.f64["NP,NP"]):
    NR, NQ, NP = A.shape
    total = np.empty(NP, dtype=A.dtype)
    for r in range(NR):
        for q in range(NQ):
            for p in range(NP):
                total[p] = 0.0
                for s in range(NP):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(NP):
                A[r, q, p] = total[p]


def doitgen_numpy(A: po.f64["NR,NQ,NP"], C4: po.f64["NP,NP"]):
    for r in range(A.shape[0]):
        A[r] = A[r] @ C4


def make(NQ, NR, NP, dtype):
    r, q, p = np.ogrid[:NR, :NQ, :NP]
    s, t = np.ogrid[:NP, :NP]
    return {
        "A": ((r * q + p) % max(NP, 1) / max(NP, 1)).astype(dtype),
        "C4": (s * t % max(NP, 1) / max(NP, 1)).astype(dtype),
    }


def reference(A, C4):
    return {"A": (A.reshape(-1, A.shape[2]) @ C4).reshape(A.shape) if A.size else A.copy()}


def flops(NQ, NR, NP):
    return 2 * NR * NQ * NP * NP


def chain(NQ, NR, NP):
    return NP
