"""jacobi-1d: two arrays take turns in a three-point average."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TSTEPS": 20, "N": 30},
    "SMALL": {"TSTEPS": 40, "N": 120},
    "MEDIUM": {"TSTEPS": 100, "N": 400},
    "LARGE": {"TSTEPS": 500, "N": 2000},
    "EXTRALARGE": {"TSTEPS": 1000, "N": 4000},
}
OUTPUTS = ("A", "B")
STEPS = "TSTEPS"


def jacobi_1d(tsteps: int, A: po.f64["N"], B: po.f64["N"]):
    N = A.shape[0]
    for _t in range(tsteps):
        for i in range(1, N - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, N - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


def jacobi_1d_numpy(tsteps: int, A: po.f64["N"], B: po.f64["N"]):
    for _t in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def make(TSTEPS, N, dtype):
    i = np.arange(N)
    return {
        "tsteps": TSTEPS,
        "A": ((i + 2) / max(N, 1)).astype(dtype),
        "B": ((i + 3) / max(N, 1)).astype(dtype),
    }


def reference(tsteps, A, B):
    A, B = A.copy(), B.copy()
    if len(A) < 3:
        return {"A": A, "B": B}
    weights = np.full(3, 0.33333, A.dtype)
    for _ in range(tsteps):
        B[1:-1] = np.convolve(A, weights, "valid")
        A[1:-1] = np.convolve(B, weights, "valid")
    return {"A": A, "B": B}


def flops(TSTEPS, N):
    return TSTEPS * 2 * 3 * max(N - 2, 0)


def chain(TSTEPS, N):
    return 2 * 3 * TSTEPS
