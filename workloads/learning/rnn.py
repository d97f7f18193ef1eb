"""rnn: a recurrent network over a sequence, every state kept."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 4, "N": 3, "D": 5, "H": 6},
    "SMALL": {"T": 8, "N": 8, "D": 16, "H": 20},
    "MEDIUM": {"T": 16, "N": 16, "D": 64, "H": 64},
    "LARGE": {"T": 32, "N": 64, "D": 256, "H": 512},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def rnn_numpy(
    x: po.f32["T,N,D"], h0: po.f32["N,H"], w_x: po.f32["D,H"], w_h: po.f32["H,H"], b: po.f32["H"]
):
    T, N, _ = x.shape
    states = np.zeros((T, N, h0.shape[1]), dtype=x.dtype)
    h = h0
    for t in range(T):
        h = np.tanh(x[t] @ w_x + h @ w_h + b)
        states[t] = h
    return states


def make(T, N, D, H, dtype):
    return {
        "x": normal(1, (T, N, D), dtype),
        "h0": normal(2, (N, H), dtype),
        "w_x": normal(3, (D, H), dtype, 0.3 * max(D, 1) ** -0.5),
        "w_h": normal(4, (H, H), dtype, 0.3 * max(H, 1) ** -0.5),
        "b": normal(5, (H,), dtype),
    }


def randomize(arguments, rng):
    for name in ("x", "h0", "b"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(T, N, D, H):
    return 2 * T * N * H * (D + H)


def chain(T, N, D, H):
    return 8 * (D + H) + 20 * T
