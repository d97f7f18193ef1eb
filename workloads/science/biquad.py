"""biquad: a chain of second-order IIR filters, direct form II transposed."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 40, "SECTIONS": 2},
    "SMALL": {"N": 400, "SECTIONS": 3},
    "MEDIUM": {"N": 4000, "SECTIONS": 4},
    "LARGE": {"N": 500000, "SECTIONS": 4},
    "EXTRALARGE": {"N": 2000000, "SECTIONS": 6},
}
OUTPUTS = ("return",)


def biquad(sos: po.f64["S,6"], x: po.f64["N"]):
    y = x.copy()
    for s in range(sos.shape[0]):
        b0, b1, b2 = sos[s, 0], sos[s, 1], sos[s, 2]
        a1, a2 = sos[s, 4], sos[s, 5]
        z1 = 0.0
        z2 = 0.0
        for n in range(len(y)):
            xn = y[n]
            yn = b0 * xn + z1
            z1 = b1 * xn - a1 * yn + z2
            z2 = b2 * xn - a2 * yn
            y[n] = yn
    return y


def make(N, SECTIONS, dtype):
    sos = np.tile(np.array([0.2, 0.4, 0.2, 1.0, -0.6, 0.3], dtype), (SECTIONS, 1))
    return {"sos": sos, "x": normal(1, N, dtype)}


def randomize(arguments, rng):
    arguments["x"][:] = rng.uniform(-1.0, 1.0, arguments["x"].shape)
