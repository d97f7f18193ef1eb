"""batch-norm-inference: normalisation in NHWC layout by given statistics."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 2, "H": 5, "W": 6, "C": 3},
    "SMALL": {"N": 4, "H": 16, "W": 16, "C": 8},
    "MEDIUM": {"N": 8, "H": 32, "W": 32, "C": 16},
    "LARGE": {"N": 16, "H": 112, "W": 112, "C": 32},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def batch_norm_inference_numpy(
    x: po.f32["N,H,W,C"], mean: po.f32["C"], var: po.f32["C"], gamma: po.f32["C"], beta: po.f32["C"]
):
    return (x - mean) / np.sqrt(var + 1e-5) * gamma + beta


def make(N, H, W, C, dtype):
    return {
        "x": normal(1, (N, H, W, C), dtype),
        "mean": normal(2, (C,), dtype),
        "var": positive(3, (C,), dtype),
        "gamma": normal(4, (C,), dtype),
        "beta": normal(5, (C,), dtype),
    }


def randomize(arguments, rng):
    for name in ("x", "mean", "gamma", "beta"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(N, H, W, C):
    return 6 * N * C * H * W


def chain(N, H, W, C):
    return 50
