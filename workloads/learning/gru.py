"""gru: a gated recurrent unit, one step."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 3, "D": 5, "H": 6},
    "SMALL": {"N": 8, "D": 16, "H": 20},
    "MEDIUM": {"N": 32, "D": 64, "H": 64},
    "LARGE": {"N": 256, "D": 256, "H": 512},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def gru_numpy(
    x: po.f32["N,D"],
    h: po.f32["N,H"],
    w_ih: po.f32["H3,D"],
    w_hh: po.f32["H3,H"],
    b_ih: po.f32["H3"],
    b_hh: po.f32["H3"],
):
    gates_x = x @ w_ih.T + b_ih
    gates_h = h @ w_hh.T + b_hh
    x_r, x_z, x_n = np.split(gates_x, 3, axis=1)
    h_r, h_z, h_n = np.split(gates_h, 3, axis=1)
    r = 1.0 / (1.0 + np.exp(-(x_r + h_r)))
    z = 1.0 / (1.0 + np.exp(-(x_z + h_z)))
    n = np.tanh(x_n + r * h_n)
    return (1.0 - z) * n + z * h


def make(N, D, H, dtype):
    return {
        "x": normal(1, (N, D), dtype),
        "h": normal(2, (N, H), dtype),
        "w_ih": normal(3, (3 * H, D), dtype, 0.3 * max(D, 1) ** -0.5),
        "w_hh": normal(4, (3 * H, H), dtype, 0.3 * max(H, 1) ** -0.5),
        "b_ih": normal(5, (3 * H,), dtype),
        "b_hh": normal(6, (3 * H,), dtype),
    }


def flops(N, D, H):
    return N * H * (6 * (D + H) + 20)


def chain(N, D, H):
    return 8 * (D + H) + 40
