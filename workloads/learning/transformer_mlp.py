"""transformer-mlp: the feed-forward half of a block: tokens flattened into one matrix and back."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"B": 2, "T": 3, "C": 4},
    "SMALL": {"B": 2, "T": 16, "C": 16},
    "MEDIUM": {"B": 4, "T": 32, "C": 64},
    "LARGE": {"B": 4, "T": 256, "C": 256},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def transformer_mlp_numpy(
    x: po.f32["B,T,C"], w1: po.f32["C,F"], b1: po.f32["F"], w2: po.f32["F,C"], b2: po.f32["C"]
):
    B, T, C = x.shape
    flat = x.reshape(B * T, C)
    hidden = flat @ w1 + b1
    hidden = 0.5 * hidden * (1.0 + np.tanh(0.7978845608 * (hidden + 0.044715 * hidden**3)))
    out = hidden @ w2 + b2
    return x + out.reshape(B, T, C)


def make(B, T, C, dtype):
    scale = max(C, 1) ** -0.5
    return {
        "x": normal(1, (B, T, C), dtype),
        "w1": normal(2, (C, 4 * C), dtype, scale),
        "b1": normal(3, (4 * C,), dtype),
        "w2": normal(4, (4 * C, C), dtype, scale / 2),
        "b2": normal(5, (C,), dtype),
    }


def flops(B, T, C):
    return B * T * (16 * C * C + 36 * C)


def chain(B, T, C):
    return 40 * C + 40
