"""encoder: token and position embeddings, looked up and added."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"B": 2, "T": 4, "C": 6, "V": 9},
    "SMALL": {"B": 4, "T": 16, "C": 32, "V": 50},
    "MEDIUM": {"B": 4, "T": 64, "C": 128, "V": 200},
    "LARGE": {"B": 8, "T": 1024, "C": 768, "V": 5000},
}
OUTPUTS = ("out",)
DTYPE = np.float32
LEAST = {"V": 1}


def encoder(out: po.f32["B,T,C"], inp: po.i64["B,T"], wte: po.f32["V,C"], wpe: po.f32["T,C"]):
    B, T, C = out.shape
    for b in range(B):
        for t in range(T):
            ix = inp[b, t]
            for i in range(C):
                out[b, t, i] = wte[ix, i] + wpe[t, i]


def encoder_numpy(out: po.f32["B,T,C"], inp: po.i64["B,T"], wte: po.f32["V,C"], wpe: po.f32["T,C"]):
    out[:] = wte[inp] + wpe[np.arange(inp.shape[1])]


def make(B, T, C, V, dtype):
    return {
        "out": np.zeros((B, T, C), dtype),
        "inp": integers(1, V, (B, T)),
        "wte": normal(2, (V, C), dtype),
        "wpe": normal(3, (T, C), dtype),
    }


def randomize(arguments, rng):
    for name in ("wte", "wpe"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(B, T, C, V):
    return B * T * C


def chain(B, T, C, V):
    return 1
