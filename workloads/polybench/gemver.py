"""gemver: a rank-two update of A, then x += beta transpose(A) y + z and w += alpha A x."""

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
OUTPUTS = ("A", "x", "w")


def gemver(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["N,N"],
    u1: po.f64["N"],
    v1: po.f64["N"],
    u2: po.f64["N"],
    v2: po.f64["N"],
    w: po.f64["N"],
    x: po.f64["N"],
    y: po.f64["N"],
    z: po.f64["N"],
):
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(N):
        for j in range(N):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(N):
        x[i] = x[i] + z[i]
    for i in range(N):
        for j in range(N):
            w[i] = w[i] + alpha * A[i, j] * x[j]


def gemver_numpy(
    alpha: po.f64,
    beta: po.f64,
    A: po.f64["N,N"],
    u1: po.f64["N"],
    v1: po.f64["N"],
    u2: po.f64["N"],
    v2: po.f64["N"],
    w: po.f64["N"],
    x: po.f64["N"],
    y: po.f64["N"],
    z: po.f64["N"],
):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * (A.T @ y) + z
    w += alpha * (A @ x)


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    divisor = max(N, 1)
    ramp = (np.arange(N) + 1) / divisor
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": (i * j % divisor / divisor).astype(dtype),
        "u1": np.arange(N).astype(dtype),
        "v1": (ramp / 4.0).astype(dtype),
        "u2": (ramp / 2.0).astype(dtype),
        "v2": (ramp / 6.0).astype(dtype),
        "w": np.zeros(N, dtype),
        "x": np.zeros(N, dtype),
        "y": (ramp / 8.0).astype(dtype),
        "z": (ramp / 9.0).astype(dtype),
    }


def reference(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    updated = A + np.stack((u1, u2), axis=1) @ np.stack((v1, v2))
    new_x = x + beta * (y @ updated) + z
    return {"A": updated, "x": new_x, "w": w + alpha * (updated @ new_x)}


def flops(N):
    return N * N * (4 + 3 + 3) + N


def chain(N):
    return 2 * N + 6
