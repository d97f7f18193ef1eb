"""lfilter: the difference equation of a digital filter, transposed direct form."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 30, "ORDER": 2},
    "SMALL": {"N": 300, "ORDER": 3},
    "MEDIUM": {"N": 3000, "ORDER": 4},
    "LARGE": {"N": 100000, "ORDER": 8},
    "EXTRALARGE": {"N": 500000, "ORDER": 8},
}
OUTPUTS = ("y",)


def lfilter(b: po.f64["O+1"], a: po.f64["O+1"], x: po.f64["N"], y: po.f64["N"]):
    order = len(b) - 1
    z = np.zeros(order + 1)
    for n in range(len(x)):
        y[n] = b[0] * x[n] + z[0]
        for i in range(1, order + 1):
            z[i - 1] = b[i] * x[n] + z[i] - a[i] * y[n]


def lfilter_numpy(b: po.f64["O+1"], a: po.f64["O+1"], x: po.f64["N"], y: po.f64["N"]):
    z = np.zeros(b.shape[0])
    for n in range(x.shape[0]):
        y[n] = b[0] * x[n] + z[0]
        z[:-1] = b[1:] * x[n] + z[1:] - a[1:] * y[n]


def make(N, ORDER, dtype):
    a = np.concatenate([[1.0], 0.3 / (2.0 + np.arange(ORDER)) ** 2]).astype(dtype)
    return {
        "b": positive(1, ORDER + 1, dtype),
        "a": a,
        "x": normal(2, N, dtype),
        "y": np.zeros(N, dtype),
    }


def randomize(arguments, rng):
    arguments["x"][:] = rng.uniform(-1.0, 1.0, arguments["x"].shape)
