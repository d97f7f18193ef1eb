"""swiglu: a gated feed-forward layer."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 4, "D": 6, "F": 10},
    "SMALL": {"N": 16, "D": 32, "F": 48},
    "MEDIUM": {"N": 64, "D": 96, "F": 160},
    "LARGE": {"N": 512, "D": 512, "F": 1376},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def swiglu_numpy(
    x: po.f32["N,D"], w_gate: po.f32["D,F"], w_up: po.f32["D,F"], w_down: po.f32["F,D"]
):
    gate = x @ w_gate
    hidden = gate / (1.0 + np.exp(-gate)) * (x @ w_up)
    return hidden @ w_down


def make(N, D, F, dtype):
    scale = max(D, 1) ** -0.5
    return {
        "x": normal(1, (N, D), dtype),
        "w_gate": normal(2, (D, F), dtype, scale),
        "w_up": normal(3, (D, F), dtype, scale),
        "w_down": normal(4, (F, D), dtype, max(F, 1) ** -0.5),
    }


def flops(N, D, F):
    return 6 * N * D * F + 5 * N * F


def chain(N, D, F):
    return 8 * (2 * D + F) + 20
