"""spherical-harmonics: associated Legendre functions of all degrees and orders, by recurrence."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 6, "LMAX": 3},
    "SMALL": {"N": 20, "LMAX": 6},
    "MEDIUM": {"N": 100, "LMAX": 12},
    "LARGE": {"N": 2000, "LMAX": 30},
    "EXTRALARGE": {"N": 10000, "LMAX": 40},
}
OUTPUTS = ("return",)


def spherical_harmonics_numpy(theta: po.f64["N"], lmax: int):
    x = np.cos(theta)
    s = np.sin(theta)
    P = np.zeros((lmax + 1, lmax + 1, theta.shape[0]))
    P[0, 0] = 1.0
    for m in range(1, lmax + 1):
        P[m, m] = -(2 * m - 1) * s * P[m - 1, m - 1]
    for m in range(lmax):
        P[m + 1, m] = (2 * m + 1) * x * P[m, m]
    for m in range(lmax + 1):
        for n in range(m + 2, lmax + 1):
            P[n, m] = ((2 * n - 1) * x * P[n - 1, m] - (n + m - 1) * P[n - 2, m]) / (n - m)
    return P


def make(N, LMAX, dtype):
    return {"theta": np.linspace(0.1, 3.0, N).astype(dtype), "lmax": LMAX}


def chain(N, LMAX):
    return 1000 * LMAX
