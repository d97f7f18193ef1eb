"""ema: an exponential moving average along time for many series, with bias correction."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 8, "N": 5},
    "SMALL": {"T": 50, "N": 20},
    "MEDIUM": {"T": 300, "N": 100},
    "LARGE": {"T": 4000, "N": 1000},
}
OUTPUTS = ("return",)
DTYPE = np.float32
EXACT = False


def ema(x: po.f32["T,N"], alpha: float):
    T, N = x.shape
    out = np.empty_like(x)
    for n in range(N):
        state = x.dtype.type(0)
        for t in range(T):
            state = (1 - alpha) * state + alpha * x[t, n]
            out[t, n] = state / (1 - (1 - alpha) ** (t + 1))
    return out


def ema_numpy(x: po.f32["T,N"], alpha: float):
    out = np.empty_like(x)
    state = np.zeros(x.shape[1], dtype=x.dtype)
    for t in range(x.shape[0]):
        state = (1 - alpha) * state + alpha * x[t]
        out[t] = state / (1 - (1 - alpha) ** (t + 1))
    return out


def make(T, N, dtype):
    return {"x": normal(1, (T, N), dtype), "alpha": 0.1}


def flops(T, N):
    return 5 * T * N


def chain(T, N):
    return 40 + 10 * T
