"""encoder-backward: gradients scattered back into the token and position embeddings."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"B": 2, "T": 4, "C": 6, "V": 9},
    "SMALL": {"B": 4, "T": 16, "C": 32, "V": 50},
    "MEDIUM": {"B": 4, "T": 64, "C": 128, "V": 200},
    "LARGE": {"B": 4, "T": 512, "C": 768, "V": 5000},
}
OUTPUTS = ("dwte", "dwpe")
DTYPE = np.float32
LEAST = {"V": 1}


def encoder_backward(
    dwte: po.f32["V,C"], dwpe: po.f32["T,C"], dout: po.f32["B,T,C"], inp: po.i64["B,T"]
):
    B, T, C = dout.shape
    for b in range(B):
        for t in range(T):
            ix = inp[b, t]
            for i in range(C):
                d = dout[b, t, i]
                dwte[ix, i] += d
                dwpe[t, i] += d


def encoder_backward_numpy(
    dwte: po.f32["V,C"], dwpe: po.f32["T,C"], dout: po.f32["B,T,C"], inp: po.i64["B,T"]
):
    np.add.at(dwte, inp, dout)
    dwpe += dout.sum(axis=0)


def make(B, T, C, V, dtype):
    return {
        "dwte": np.zeros((V, C), dtype),
        "dwpe": np.zeros((T, C), dtype),
        "dout": normal(1, (B, T, C), dtype),
        "inp": integers(2, V, (B, T)),
    }


def randomize(arguments, rng):
    dout = arguments["dout"]
    dout[:] = rng.uniform(-1, 1, dout.shape)


def flops(B, T, C, V):
    return 2 * B * T * C


def chain(B, T, C, V):
    return B * T
