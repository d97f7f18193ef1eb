"""jacobi-2d: two grids take turns in a five-point average."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TSTEPS": 20, "N": 30},
    "SMALL": {"TSTEPS": 40, "N": 90},
    "MEDIUM": {"TSTEPS": 100, "N": 250},
    "LARGE": {"TSTEPS": 500, "N": 1300},
    "EXTRALARGE": {"TSTEPS": 1000, "N": 2800},
}
OUTPUTS = ("A", "B")
STEPS = "TSTEPS"
WHOLE_REFERENCE = False


def jacobi_2d(tsteps: int, A: po.f64["N,N"], B: po.f64["N,N"]):
    N = A.shape[0]
    for _t in range(tsteps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def jacobi_2d_numpy(tsteps: int, A: po.f64["N,N"], B: po.f64["N,N"]):
    for _t in range(tsteps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def make(TSTEPS, N, dtype):
    i, j = np.ogrid[:N, :N]
    return {
        "tsteps": TSTEPS,
        "A": ((i * (j + 2) + 2) / max(N, 1)).astype(dtype),
        "B": ((i * (j + 3) + 3) / max(N, 1)).astype(dtype),
    }


def reference(tsteps, A, B):
    A, B = A.copy(), B.copy()
    if len(A) < 3:
        return {"A": A, "B": B}
    for _ in range(tsteps):
        for old, new in ((A, B), (B, A)):
            across = old[1:-1, :-2] + old[1:-1, 2:]
            across += old[:-2, 1:-1]
            across += old[2:, 1:-1]
            across += old[1:-1, 1:-1]
            np.multiply(across, 0.2, out=new[1:-1, 1:-1])
    return {"A": A, "B": B}


def flops(TSTEPS, N):
    return TSTEPS * 2 * 5 * max(N - 2, 0) ** 2


def chain(TSTEPS, N):
    return 2 * 5 * TSTEPS
