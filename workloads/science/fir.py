"""fir: convolution of a signal with a window of coefficients."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 40, "TAPS": 5},
    "SMALL": {"N": 400, "TAPS": 9},
    "MEDIUM": {"N": 4000, "TAPS": 16},
    "LARGE": {"N": 500000, "TAPS": 64},
    "EXTRALARGE": {"N": 2000000, "TAPS": 64},
}
OUTPUTS = ("y",)


def fir(x: po.f64["N+TAPS-1"], h: po.f64["TAPS"], y: po.f64["N"]):
    for n in range(len(y)):
        total = 0.0
        for k in range(len(h)):
            total += h[k] * x[n + len(h) - 1 - k]
        y[n] = total


def fir_numpy(x: po.f64["N+TAPS-1"], h: po.f64["TAPS"], y: po.f64["N"]):
    taps = h.shape[0]
    y[:] = 0.0
    for k in range(taps):
        y += h[k] * x[taps - 1 - k : taps - 1 - k + y.shape[0]]


def make(N, TAPS, dtype):
    return {
        "x": normal(1, max(N + TAPS - 1, 0), dtype),
        "h": normal(2, TAPS, dtype),
        "y": np.zeros(N, dtype),
    }


def chain(N, TAPS):
    return TAPS
