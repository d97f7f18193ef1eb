"""lstm: a long short-term memory over a sequence."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 4, "N": 3, "D": 5, "H": 6},
    "SMALL": {"T": 8, "N": 8, "D": 16, "H": 20},
    "MEDIUM": {"T": 16, "N": 16, "D": 64, "H": 64},
    "LARGE": {"T": 32, "N": 64, "D": 128, "H": 256},
}
OUTPUTS = ("return[0]", "return[1]", "return[2]")
DTYPE = np.float32


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_numpy(
    x: po.f32["T,N,D"],
    h0: po.f32["N,H"],
    c0: po.f32["N,H"],
    w_x: po.f32["D,H4"],
    w_h: po.f32["H,H4"],
    b: po.f32["H4"],
):
    T, N, _ = x.shape
    H = h0.shape[1]
    outputs = np.zeros((T, N, H), dtype=x.dtype)
    h, c = h0.copy(), c0.copy()
    for t in range(T):
        a = x[t] @ w_x + h @ w_h + b
        i = sigmoid(a[:, :H])
        f = sigmoid(a[:, H : 2 * H])
        o = sigmoid(a[:, 2 * H : 3 * H])
        g = np.tanh(a[:, 3 * H :])
        c = f * c + i * g
        h = o * np.tanh(c)
        outputs[t] = h
    return outputs, h, c


def make(T, N, D, H, dtype):
    return {
        "x": normal(1, (T, N, D), dtype),
        "h0": normal(2, (N, H), dtype),
        "c0": normal(3, (N, H), dtype),
        "w_x": normal(4, (D, 4 * H), dtype, 0.3 * max(D, 1) ** -0.5),
        "w_h": normal(5, (H, 4 * H), dtype, 0.3 * max(H, 1) ** -0.5),
        "b": normal(6, (4 * H,), dtype),
    }


def randomize(arguments, rng):
    for name in ("x", "h0", "c0", "b"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(T, N, D, H):
    return T * N * H * (8 * (D + H) + 20)


def chain(T, N, D, H):
    return 8 * (D + H) + 60 * T
