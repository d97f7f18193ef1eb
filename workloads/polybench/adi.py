"""adi: implicit steps of heat in a square: tridiagonal solves down the columns, along the rows."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TSTEPS": 20, "N": 20},
    "SMALL": {"TSTEPS": 40, "N": 60},
    "MEDIUM": {"TSTEPS": 100, "N": 200},
    "LARGE": {"TSTEPS": 500, "N": 1000},
    "EXTRALARGE": {"TSTEPS": 1000, "N": 2000},
}
OUTPUTS = ("u",)
STEPS = "TSTEPS"
LEAST = {"TSTEPS": 1, "N": 2}
WHOLE_REFERENCE = False


def adi(tsteps: int, u: po.f64["N,N"]):
    N = u.shape[0]
    v = np.zeros(u.shape, dtype=u.dtype)
    p = np.zeros(u.shape, dtype=u.dtype)
    q = np.zeros(u.shape, dtype=u.dtype)

    DX = 1.0 / N
    DY = 1.0 / N
    DT = 1.0 / tsteps
    mul1 = 2.0 * DT / (DX * DX)
    mul2 = 1.0 * DT / (DY * DY)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d

    for _t in range(tsteps):
        for i in range(1, N - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, N - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, N - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def adi_numpy(tsteps: int, u: po.f64["N,N"]):
    N = u.shape[0]
    v = np.zeros_like(u)
    p = np.zeros_like(u)
    q = np.zeros_like(u)

    DX, DY, DT = 1.0 / N, 1.0 / N, 1.0 / tsteps
    mul1 = 2.0 * DT / DX**2
    mul2 = 1.0 * DT / DY**2
    a = c = -mul1 / 2.0
    b = 1.0 + mul1
    d = f = -mul2 / 2.0
    e = 1.0 + mul2

    for _t in range(tsteps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, N - 1):
            scale = a * p[1:-1, j - 1] + b
            p[1:-1, j] = -c / scale
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]
            ) / scale
        v[-1, 1:-1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]

        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, N - 1):
            scale = d * p[1:-1, j - 1] + e
            p[1:-1, j] = -f / scale
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]
            ) / scale
        u[1:-1, -1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def make(TSTEPS, N, dtype):
    i, j = np.ogrid[:N, :N]
    return {"tsteps": TSTEPS, "u": ((i + N - j) / max(N, 1)).astype(dtype)}


def reference(tsteps, u):
    """Solve for all rows together, with rows first in memory and the multipliers made once."""
    u = u.copy()
    N = len(u)
    if N < 3:
        adi_numpy(tsteps, u)
        return {"u": u}
    across = 2.0 / tsteps * N * N
    along = 1.0 / tsteps * N * N

    def sweep(source, own, other):
        """Return columns 0 to N - 1 of the solution, as rows."""
        low, high = -own / 2.0, -other / 2.0
        right = -high * source[:, :-2] + (1 + 2 * high) * source[:, 1:-1] - high * source[:, 2:]
        p, q = np.zeros(N, u.dtype), np.ones((N, N - 2), u.dtype)
        for j in range(1, N - 1):
            scale = low * p[j - 1] + 1.0 + own
            p[j] = -low / scale
            q[j] = (right[j] - low * q[j - 1]) / scale
        found = np.ones((N, N - 2), u.dtype)
        for j in range(N - 2, 0, -1):
            found[j] = p[j] * found[j + 1] + q[j]
        return found

    v = np.zeros_like(u)
    for _ in range(tsteps):
        v[:, 1:-1] = sweep(u, across, along)
        u[1:-1] = sweep(v.T, along, across).T
    return {"u": u}


def flops(TSTEPS, N):
    inside = max(N - 2, 0)
    return TSTEPS * inside**2 * 30


def chain(TSTEPS, N):
    return 40 * (TSTEPS + N)
