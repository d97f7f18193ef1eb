"""layernorm: each row less its mean, over its deviation, scaled and shifted."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6, "C": 12},
    "SMALL": {"N": 40, "C": 64},
    "MEDIUM": {"N": 256, "C": 384},
    "LARGE": {"N": 4096, "C": 768},
}
OUTPUTS = ("out", "mean", "rstd")
DTYPE = np.float32
LEAST = {"C": 1}


def layernorm(
    x: po.f32["N,C"],
    weight: po.f32["C"],
    bias: po.f32["C"],
    out: po.f32["N,C"],
    mean: po.f32["N"],
    rstd: po.f32["N"],
):
    N, C = x.shape
    for i in range(N):
        m = x.dtype.type(0)
        for c in range(C):
            m += x[i, c]
        m = m / C
        v = x.dtype.type(0)
        for c in range(C):
            shift = x[i, c] - m
            v += shift * shift
        v = v / C
        s = 1.0 / np.sqrt(v + 1e-5)
        for c in range(C):
            out[i, c] = s * (x[i, c] - m) * weight[c] + bias[c]
        mean[i] = m
        rstd[i] = s


def layernorm_numpy(
    x: po.f32["N,C"],
    weight: po.f32["C"],
    bias: po.f32["C"],
    out: po.f32["N,C"],
    mean: po.f32["N"],
    rstd: po.f32["N"],
):
    mean[:] = x.mean(axis=-1)
    rstd[:] = 1.0 / np.sqrt(x.var(axis=-1) + 1e-5)
    out[:] = (x - mean[:, None]) * rstd[:, None] * weight + bias


def make(N, C, dtype):
    return {
        "x": normal(1, (N, C), dtype),
        "weight": normal(2, (C,), dtype),
        "bias": normal(3, (C,), dtype),
        "out": np.zeros((N, C), dtype),
        "mean": np.zeros(N, dtype),
        "rstd": np.zeros(N, dtype),
    }


def flops(N, C):
    return N * (8 * C + 5)


def chain(N, C):
    return 20 * (C + 4)
