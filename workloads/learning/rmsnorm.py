"""rmsnorm: rows over their root mean square, scaled."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6, "C": 12},
    "SMALL": {"N": 40, "C": 64},
    "MEDIUM": {"N": 256, "C": 384},
    "LARGE": {"N": 4096, "C": 1024},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"C": 1}


def rmsnorm(x: po.f32["N,C"], weight: po.f32["C"]):
    N, C = x.shape
    out = np.empty_like(x)
    for i in range(N):
        total = x.dtype.type(0)
        for j in range(C):
            total += x[i, j] * x[i, j]
        scale = 1.0 / np.sqrt(total / C + 1e-5)
        for j in range(C):
            out[i, j] = weight[j] * (scale * x[i, j])
    return out


def rmsnorm_numpy(x: po.f32["N,C"], weight: po.f32["C"]):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * weight


def make(N, C, dtype):
    return {"x": normal(1, (N, C), dtype), "weight": normal(2, (C,), dtype)}


def flops(N, C):
    return 4 * N * C


def chain(N, C):
    return 2 * C + 10
