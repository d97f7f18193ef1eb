"""batch-norm: normalisation by the statistics of the batch, which move the running ones."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 2, "C": 3, "H": 5, "W": 6},
    "SMALL": {"N": 4, "C": 8, "H": 16, "W": 16},
    "MEDIUM": {"N": 8, "C": 16, "H": 32, "W": 32},
    "LARGE": {"N": 16, "C": 32, "H": 112, "W": 112},
}
OUTPUTS = ("return", "running_mean", "running_var")
DTYPE = np.float32
LEAST = {"N": 1, "H": 1, "W": 1}


def batch_norm_numpy(
    x: po.f32["N,C,H,W"],
    gamma: po.f32["C"],
    beta: po.f32["C"],
    running_mean: po.f32["C"],
    running_var: po.f32["C"],
):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    var = x.var(axis=(0, 2, 3), keepdims=True)
    running_mean *= 0.9
    running_mean += 0.1 * mean[0, :, 0, 0]
    running_var *= 0.9
    running_var += 0.1 * var[0, :, 0, 0]
    normal = (x - mean) / np.sqrt(var + 1e-5)
    return gamma[None, :, None, None] * normal + beta[None, :, None, None]


def make(N, C, H, W, dtype):
    return {
        "x": normal(1, (N, C, H, W), dtype),
        "gamma": normal(2, (C,), dtype),
        "beta": normal(3, (C,), dtype),
        "running_mean": normal(4, (C,), dtype),
        "running_var": positive(5, (C,), dtype),
    }


def randomize(arguments, rng):
    x = arguments["x"]
    x[:] = rng.uniform(-1, 1, x.shape)


def flops(N, C, H, W):
    return 8 * N * C * H * W


def chain(N, C, H, W):
    return 20 * (N * H * W + 4)
