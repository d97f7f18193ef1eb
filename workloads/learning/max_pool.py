"""max-pool: the largest of every 2 by 2 window."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 2, "H": 6, "W": 9, "C": 3},
    "SMALL": {"N": 4, "H": 16, "W": 16, "C": 8},
    "MEDIUM": {"N": 8, "H": 32, "W": 32, "C": 16},
    "LARGE": {"N": 16, "H": 128, "W": 128, "C": 64},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def max_pool(x: po.f32["N,H,W,C"]):
    N, H, W, C = x.shape
    output = np.empty((N, H // 2, W // 2, C), dtype=x.dtype)
    for n in range(N):
        for i in range(H // 2):
            for j in range(W // 2):
                for c in range(C):
                    top = x[n, 2 * i, 2 * j, c]
                    for p in range(2):
                        for q in range(2):
                            top = max(top, x[n, 2 * i + p, 2 * j + q, c])
                    output[n, i, j, c] = top
    return output


def max_pool_numpy(x: po.f32["N,H,W,C"]):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def make(N, H, W, C, dtype):
    return {"x": normal(1, (N, H, W, C), dtype)}


def flops(N, H, W, C):
    return N * (H // 2) * (W // 2) * C * 4


def chain(N, H, W, C):
    return 1
