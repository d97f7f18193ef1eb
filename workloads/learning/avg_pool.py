"""avg-pool: the mean of every 2 by 2 window, by splitting both dimensions."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 2, "C": 3, "H": 3, "W": 5},
    "SMALL": {"N": 4, "C": 8, "H": 8, "W": 8},
    "MEDIUM": {"N": 8, "C": 16, "H": 16, "W": 16},
    "LARGE": {"N": 16, "C": 64, "H": 64, "W": 64},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def avg_pool_numpy(x: po.f32["N,C,H2,W2"]):
    N, C, H, W = x.shape
    return x.reshape(N, C, H // 2, 2, W // 2, 2).mean(axis=(3, 5))


def make(N, C, H, W, dtype):
    return {"x": normal(1, (N, C, 2 * H, 2 * W), dtype)}


def flops(N, C, H, W):
    return 4 * N * C * H * W


def chain(N, C, H, W):
    return 20
