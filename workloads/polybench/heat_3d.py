"""heat-3d: two grids take turns in an explicit step of the heat equation."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TSTEPS": 20, "N": 10},
    "SMALL": {"TSTEPS": 40, "N": 20},
    "MEDIUM": {"TSTEPS": 100, "N": 40},
    "LARGE": {"TSTEPS": 500, "N": 120},
    "EXTRALARGE": {"TSTEPS": 1000, "N": 200},
}
OUTPUTS = ("A", "B")
STEPS = "TSTEPS"
WHOLE_REFERENCE = False


def heat_3d(tsteps: int, A: po.f64["N,N,N"], B: po.f64["N,N,N"]):
    N = A.shape[0]
    for _t in range(tsteps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def heat_3d_numpy(tsteps: int, A: po.f64["N,N,N"], B: po.f64["N,N,N"]):
    for _t in range(tsteps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


def make(TSTEPS, N, dtype):
    i, j, k = np.ogrid[:N, :N, :N]
    start = ((i + j + (N - k)) * 10 / max(N, 1)).astype(dtype)
    return {"tsteps": TSTEPS, "A": start, "B": start.copy()}


def reference(tsteps, A, B):
    A, B = A.copy(), B.copy()
    if len(A) < 3:
        return {"A": A, "B": B}
    for _ in range(tsteps):
        for old, new in ((A, B), (B, A)):
            around = old[2:, 1:-1, 1:-1] + old[:-2, 1:-1, 1:-1]
            around += old[1:-1, 2:, 1:-1]
            around += old[1:-1, :-2, 1:-1]
            around += old[1:-1, 1:-1, 2:]
            around += old[1:-1, 1:-1, :-2]
            around *= 0.125
            around += 0.25 * old[1:-1, 1:-1, 1:-1]
            new[1:-1, 1:-1, 1:-1] = around
    return {"A": A, "B": B}


def flops(TSTEPS, N):
    return TSTEPS * 2 * 15 * max(N - 2, 0) ** 3


def chain(TSTEPS, N):
    return 2 * 15 * TSTEPS
