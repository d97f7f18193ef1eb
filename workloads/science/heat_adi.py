"""heat-adi: implicit steps of the heat equation, alternating directions, tridiagonal solves."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10, "STEPS": 3},
    "SMALL": {"N": 30, "STEPS": 5},
    "MEDIUM": {"N": 100, "STEPS": 10},
    "LARGE": {"N": 300, "STEPS": 20},
    "EXTRALARGE": {"N": 1000, "STEPS": 50},
}
OUTPUTS = ("u",)
STEPS = "STEPS"


def heat_adi(u: po.f64["N,N"], r: po.f64, steps: int):
    N = u.shape[0]
    c = np.zeros(N)
    d = np.zeros(N)
    v = u.copy()
    for _ in range(steps):
        for i in range(1, N - 1):
            c[0] = 0.0
            d[0] = u[i, 0]
            for j in range(1, N - 1):
                rhs = (1.0 - 2.0 * r) * u[i, j] + r * (u[i - 1, j] + u[i + 1, j])
                m = 1.0 + 2.0 * r + r * c[j - 1]
                c[j] = -r / m
                d[j] = (rhs + r * d[j - 1]) / m
            v[i, N - 1] = u[i, N - 1]
            for j in range(N - 2, 0, -1):
                v[i, j] = d[j] - c[j] * v[i, j + 1]
        for j in range(1, N - 1):
            c[0] = 0.0
            d[0] = v[0, j]
            for i in range(1, N - 1):
                rhs = (1.0 - 2.0 * r) * v[i, j] + r * (v[i, j - 1] + v[i, j + 1])
                m = 1.0 + 2.0 * r + r * c[i - 1]
                c[i] = -r / m
                d[i] = (rhs + r * d[i - 1]) / m
            u[N - 1, j] = v[N - 1, j]
            for i in range(N - 2, 0, -1):
                u[i, j] = d[i] - c[i] * u[i + 1, j]


def sweep(u, r):
    """Solve along the second axis; explicit along the first."""
    N = u.shape[0]
    v = u.copy()
    c = np.zeros(N)
    d = np.zeros((N, N))
    d[1:-1, 0] = u[1:-1, 0]
    for j in range(1, N - 1):
        m = 1.0 + 2.0 * r + r * c[j - 1]
        c[j] = -r / m
        rhs = (1.0 - 2.0 * r) * u[1:-1, j] + r * (u[:-2, j] + u[2:, j])
        d[1:-1, j] = (rhs + r * d[1:-1, j - 1]) / m
    for j in range(N - 2, 0, -1):
        v[1:-1, j] = d[1:-1, j] - c[j] * v[1:-1, j + 1]
    return v


def heat_adi_numpy(u: po.f64["N,N"], r: po.f64, steps: int):
    for _ in range(steps):
        v = sweep(u, r)
        u[:] = sweep(v.T, r).T


def make(N, STEPS, dtype):
    return {"u": normal(1, (N, N), dtype), "r": 0.25, "steps": STEPS}


def chain(N, STEPS):
    return 100 * STEPS
