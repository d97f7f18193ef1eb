"""standardize: columns less their mean, over their deviation, in place."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10, "D": 4},
    "SMALL": {"N": 60, "D": 8},
    "MEDIUM": {"N": 400, "D": 20},
    "LARGE": {"N": 20000, "D": 256},
}
OUTPUTS = ("X", "return[0]", "return[1]")
DTYPE = np.float32
LEAST = {"N": 1}


def standardize_numpy(X: po.f32["N,D"]):
    mean = X.mean(axis=0)
    std = X.std(axis=0)
    std = np.where(std < 1e-8, 1.0, std).astype(X.dtype)
    X -= mean
    X /= std
    return mean, std


def make(N, D, dtype):
    return {"X": normal(1, (N, D), dtype)}


def flops(N, D):
    return 6 * N * D


def chain(N, D):
    return 20 * (N + 4)
