"""azimint: mean of the data within each ring of radii."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 40, "RINGS": 4},
    "SMALL": {"N": 400, "RINGS": 10},
    "MEDIUM": {"N": 4000, "RINGS": 40},
    "LARGE": {"N": 400000, "RINGS": 100},
    "EXTRALARGE": {"N": 1000000, "RINGS": 100},
}
OUTPUTS = ("return",)
LEAST = {"N": 1, "RINGS": 1}


def azimint_numpy(data: po.f64["N"], radius: po.f64["N"], rings: int):
    rmax = radius.max()
    res = np.zeros(rings, dtype=np.float64)
    for i in range(rings):
        r1 = rmax * i / rings
        r2 = rmax * (i + 1) / rings
        mask = (r1 <= radius) & (radius < r2)
        values = data[mask]
        res[i] = values.mean() if values.size > 0 else 0.0
    return res


def make(N, RINGS, dtype):
    return {"data": positive(1, N, dtype), "radius": positive(2, N, dtype), "rings": RINGS}


def randomize(arguments, rng):
    for name in ("data", "radius"):
        arguments[name][:] = rng.uniform(0.0, 1.0, arguments[name].shape)
