"""savgol: a signal smoothed by fitted parabolas, given their weights."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 40, "HALF": 2},
    "SMALL": {"N": 400, "HALF": 3},
    "MEDIUM": {"N": 5000, "HALF": 5},
    "LARGE": {"N": 1000000, "HALF": 7},
    "EXTRALARGE": {"N": 4000000, "HALF": 10},
}
OUTPUTS = ("return",)


def savgol_numpy(x: po.f64["N"], half: int):
    k = np.arange(-half, half + 1)
    norm = (2 * half + 1) * (4 * half * half + 4 * half - 3) / 3
    weights = ((3 * half * half + 3 * half - 1) - 5.0 * k * k) / norm
    padded = np.concatenate([x[0] * np.ones(half), x, x[-1] * np.ones(half)])
    out = np.zeros_like(x)
    for i in range(2 * half + 1):
        out += weights[i] * padded[i : i + len(x)]
    return out


LEAST = {"N": 1, "HALF": 1}


def make(N, HALF, dtype):
    return {"x": normal(1, N, dtype), "half": HALF}


def chain(N, HALF):
    return 100 * HALF
