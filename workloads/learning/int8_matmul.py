"""int8-matmul: a matrix of int8 times a vector of int8, scaled by groups; exact integers."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, positive

SIZES = {
    "MINI": {"N": 5, "G": 2, "S": 4},
    "SMALL": {"N": 20, "G": 3, "S": 8},
    "MEDIUM": {"N": 100, "G": 4, "S": 32},
    "LARGE": {"N": 4096, "G": 32, "S": 64},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def int8_matmul(w: po.i8["N,G,S"], w_scale: po.f32["N,G"], x: po.i8["G,S"], x_scale: po.f32["G"]):
    N, G, S = w.shape
    out = np.zeros(N, dtype=w_scale.dtype)
    for i in range(N):
        for g in range(G):
            total = 0
            for s in range(S):
                total += int(w[i, g, s]) * int(x[g, s])
            out[i] += total * w_scale[i, g] * x_scale[g]
    return out


def int8_matmul_numpy(
    w: po.i8["N,G,S"], w_scale: po.f32["N,G"], x: po.i8["G,S"], x_scale: po.f32["G"]
):
    products = w.astype(np.int32) * x.astype(np.int32)
    totals = products.sum(axis=-1, dtype=np.int32)
    return np.sum(totals.astype(w_scale.dtype) * w_scale * x_scale, axis=-1)


def make(N, G, S, dtype):
    return {
        "w": (integers(1, 255, (N, G, S)) - 127).astype(np.int8),
        "w_scale": positive(2, (N, G), dtype),
        "x": (integers(3, 255, (G, S)) - 127).astype(np.int8),
        "x_scale": positive(4, (G,), dtype),
    }


def flops(N, G, S):
    return 2 * N * G * S + 3 * N * G


def chain(N, G, S):
    return 8 * G
