"""bias-relu: a bias along rows, then zero for what is negative."""

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


def bias_relu(x: po.f32["N,C"], bias: po.f32["C"]):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            value = x[i, j] + bias[j]
            out[i, j] = value if value > 0 else 0
    return out


def bias_relu_numpy(x: po.f32["N,C"], bias: po.f32["C"]):
    return np.maximum(0, x + bias)


def make(N, C, dtype):
    return {"x": normal(1, (N, C), dtype), "bias": normal(2, (C,), dtype)}


def flops(N, C):
    return 2 * N * C


def chain(N, C):
    return 1
