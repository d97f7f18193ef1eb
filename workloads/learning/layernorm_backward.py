"""layernorm-backward: the gradients of a layer normalisation, added to what is there."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"B": 2, "T": 3, "C": 12},
    "SMALL": {"B": 4, "T": 10, "C": 64},
    "MEDIUM": {"B": 4, "T": 64, "C": 384},
    "LARGE": {"B": 8, "T": 512, "C": 768},
}
OUTPUTS = ("dx", "dweight", "dbias")
DTYPE = np.float32
LEAST = {"C": 1}


def layernorm_backward(
    dx: po.f32["B,T,C"],
    dweight: po.f32["C"],
    dbias: po.f32["C"],
    dout: po.f32["B,T,C"],
    x: po.f32["B,T,C"],
    weight: po.f32["C"],
    mean: po.f32["B,T"],
    rstd: po.f32["B,T"],
):
    B, T, C = x.shape
    for b in range(B):
        for t in range(T):
            mean_b = mean[b, t]
            rstd_b = rstd[b, t]
            dnorm_mean = x.dtype.type(0)
            dnorm_norm_mean = x.dtype.type(0)
            for i in range(C):
                norm = (x[b, t, i] - mean_b) * rstd_b
                dnorm = weight[i] * dout[b, t, i]
                dnorm_mean += dnorm
                dnorm_norm_mean += dnorm * norm
            dnorm_mean = dnorm_mean / C
            dnorm_norm_mean = dnorm_norm_mean / C
            for i in range(C):
                norm = (x[b, t, i] - mean_b) * rstd_b
                dnorm = weight[i] * dout[b, t, i]
                dbias[i] += dout[b, t, i]
                dweight[i] += norm * dout[b, t, i]
                dx[b, t, i] += (dnorm - dnorm_mean - norm * dnorm_norm_mean) * rstd_b


def layernorm_backward_numpy(
    dx: po.f32["B,T,C"],
    dweight: po.f32["C"],
    dbias: po.f32["C"],
    dout: po.f32["B,T,C"],
    x: po.f32["B,T,C"],
    weight: po.f32["C"],
    mean: po.f32["B,T"],
    rstd: po.f32["B,T"],
):
    norm = (x - mean[..., None]) * rstd[..., None]
    dnorm = dout * weight
    dbias += dout.sum(axis=(0, 1))
    dweight += np.sum(dout * norm, axis=(0, 1))
    dx += (
        dnorm
        - dnorm.mean(axis=-1, keepdims=True)
        - norm * (dnorm * norm).mean(axis=-1, keepdims=True)
    ) * rstd[..., None]


def make(B, T, C, dtype):
    x = normal(1, (B, T, C), dtype)
    return {
        "dx": np.zeros((B, T, C), dtype),
        "dweight": np.zeros(C, dtype),
        "dbias": np.zeros(C, dtype),
        "dout": normal(2, (B, T, C), dtype),
        "x": x,
        "weight": normal(3, (C,), dtype),
        "mean": normal(4, (B, T), dtype),
        "rstd": positive(5, (B, T), dtype),
    }


def flops(B, T, C):
    return 20 * B * T * C


def chain(B, T, C):
    return 4 * B * T + 8 * C
