"""seidel-2d: a nine-point average in place, so that a sweep reads its own results."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TSTEPS": 20, "N": 40},
    "SMALL": {"TSTEPS": 40, "N": 120},
    "MEDIUM": {"TSTEPS": 100, "N": 400},
    "LARGE": {"TSTEPS": 500, "N": 2000},
    "EXTRALARGE": {"TSTEPS": 1000, "N": 4000},
}
OUTPUTS = ("A",)
STEPS = "TSTEPS"
WHOLE_REFERENCE = False


def seidel_2d(tsteps: int, A: po.f64["N,N"]):
    N = A.shape[0]
    for _t in range(tsteps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0


def seidel_2d_numpy(tsteps: int, A: po.f64["N,N"]):
    N = A.shape[0]
    for _t in range(tsteps):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2]
                + A[i - 1, 1:-1]
                + A[i - 1, 2:]
                + A[i, 2:]
                + A[i + 1, :-2]
                + A[i + 1, 1:-1]
                + A[i + 1, 2:]
            )
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def make(TSTEPS, N, dtype):
    i, j = np.ogrid[:N, :N]
    return {"tsteps": TSTEPS, "A": ((i * (j + 2) + 2) / max(N, 1)).astype(dtype)}


def reference(tsteps, A):
    """Update all points with the same 2 i + j together: none of them reads another.

    In the flattened grid such points are N - 2 elements apart.
    """
    grid = A.copy()
    N = len(grid)
    if N < 3:
        return {"A": grid}
    flat = grid.reshape(-1)
    waves = []
    for wave in range(3, 3 * (N - 2) + 1):
        first = max(1, (wave - (N - 2) + 1) // 2)
        last = min(N - 2, (wave - 1) // 2)
        if first > last:
            continue
        points = slice(first * (N - 2) + wave, last * (N - 2) + wave + 1, N - 2)
        shifts = (-N - 1, -N, -N + 1, -1, 0, 1, N - 1, N, N + 1)
        # the last stop would pass the end of the grid only for points outside it
        waves.append([flat[points.start + s : points.stop + s : N - 2] for s in shifts])
    for _ in range(tsteps):
        for first_view, *views in waves:
            total = first_view.copy()
            for view in views:
                total += view
            views[3][...] = total / 9.0
    return {"A": grid}


def flops(TSTEPS, N):
    return TSTEPS * 9 * max(N - 2, 0) ** 2


def chain(TSTEPS, N):
    return 9 * TSTEPS
