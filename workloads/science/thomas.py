"""thomas: many tridiagonal systems of equal length."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 8, "SYSTEMS": 4},
    "SMALL": {"N": 30, "SYSTEMS": 10},
    "MEDIUM": {"N": 100, "SYSTEMS": 50},
    "LARGE": {"N": 500, "SYSTEMS": 1000},
    "EXTRALARGE": {"N": 1000, "SYSTEMS": 4000},
}
OUTPUTS = ("return",)
LEAST = {"N": 1}


def thomas(a: po.f64["N"], b: po.f64["N"], c: po.f64["N"], d: po.f64["N,S"]):
    N, S = d.shape
    w = np.zeros(N)
    g = np.zeros((N, S))
    x = np.zeros((N, S))
    w[0] = c[0] / b[0]
    for s in range(S):
        g[0, s] = d[0, s] / b[0]
    for i in range(1, N):
        m = b[i] - a[i] * w[i - 1]
        w[i] = c[i] / m
        for s in range(S):
            g[i, s] = (d[i, s] - a[i] * g[i - 1, s]) / m
    for s in range(S):
        x[N - 1, s] = g[N - 1, s]
    for i in range(N - 2, -1, -1):
        for s in range(S):
            x[i, s] = g[i, s] - w[i] * x[i + 1, s]
    return x


def thomas_numpy(a: po.f64["N"], b: po.f64["N"], c: po.f64["N"], d: po.f64["N,S"]):
    n = len(b)
    w = np.zeros(n)
    g = np.zeros_like(d)
    x = np.zeros_like(d)
    w[0] = c[0] / b[0]
    g[0] = d[0] / b[0]
    for i in range(1, n):
        w[i] = c[i] / (b[i] - a[i] * w[i - 1])
        g[i] = (d[i] - a[i] * g[i - 1]) / (b[i] - a[i] * w[i - 1])
    x[-1] = g[-1]
    for i in range(n - 2, -1, -1):
        x[i] = g[i] - w[i] * x[i + 1]
    return x


def make(N, SYSTEMS, dtype):
    return {
        "a": positive(1, N, dtype),
        "b": 4 * positive(2, N, dtype) + 2,
        "c": positive(3, N, dtype),
        "d": normal(4, (N, SYSTEMS), dtype),
    }


def randomize(arguments, rng):
    arguments["d"][...] = rng.uniform(-1, 1, arguments["d"].shape)


def chain(N, SYSTEMS):
    return 10 * N
