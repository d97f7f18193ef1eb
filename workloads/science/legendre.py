"""legendre: polynomials by their recurrence, a Chebyshev series by Clenshaw."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10, "DEGREE": 5},
    "SMALL": {"N": 100, "DEGREE": 8},
    "MEDIUM": {"N": 1000, "DEGREE": 12},
    "LARGE": {"N": 100000, "DEGREE": 30},
    "EXTRALARGE": {"N": 1000000, "DEGREE": 30},
}
OUTPUTS = ("return[0]", "return[1]")
LEAST = {"DEGREE": 1}


def legendre(x: po.f64["N"], c: po.f64["D"]):
    n, degree = len(x), len(c)
    P = np.zeros((degree + 1, n))
    series = np.zeros(n)
    for i in range(n):
        P[0, i] = 1.0
        P[1, i] = x[i]
    for d in range(1, degree):
        for i in range(n):
            P[d + 1, i] = ((2 * d + 1) * x[i] * P[d, i] - d * P[d - 1, i]) / (d + 1)
    for i in range(n):
        b1 = 0.0
        b2 = 0.0
        for d in range(degree - 1, 0, -1):
            b1, b2 = 2.0 * x[i] * b1 - b2 + c[d], b1
        series[i] = x[i] * b1 - b2 + c[0]
    return P, series


def legendre_numpy(x: po.f64["N"], c: po.f64["D"]):
    degree = c.shape[0]
    P = np.empty((degree + 1, *x.shape))
    P[0] = 1
    P[1] = x
    for d in range(1, degree):
        P[d + 1] = ((2 * d + 1) * x * P[d] - d * P[d - 1]) / (d + 1)
    b1 = np.zeros_like(x)
    b2 = np.zeros_like(x)
    for d in range(degree - 1, 0, -1):
        b1, b2 = 2 * x * b1 - b2 + c[d], b1
    return P, x * b1 - b2 + c[0]


def make(N, DEGREE, dtype):
    return {"x": np.linspace(-1, 1, N).astype(dtype), "c": normal(1, DEGREE, dtype)}


def chain(N, DEGREE):
    return 100 * DEGREE
