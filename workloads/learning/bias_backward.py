"""bias-backward: the sums of the columns of a gradient, added to what is there."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"B": 2, "T": 3, "C": 12},
    "SMALL": {"B": 4, "T": 10, "C": 64},
    "MEDIUM": {"B": 4, "T": 64, "C": 384},
    "LARGE": {"B": 8, "T": 512, "C": 768},
}
OUTPUTS = ("dbias",)
DTYPE = np.float32
LEAST = {"C": 1}


def bias_backward(dbias: po.f32["C"], dout: po.f32["B,T,C"]):
    B, T, C = dout.shape
    for o in range(C):
        total = dout.dtype.type(0)
        for b in range(B):
            for t in range(T):
                total += dout[b, t, o]
        dbias[o] += total


def bias_backward_numpy(dbias: po.f32["C"], dout: po.f32["B,T,C"]):
    dbias += dout.reshape(-1, dout.shape[2]).sum(axis=0)


def make(B, T, C, dtype):
    return {"dbias": normal(1, (C,), dtype), "dout": normal(2, (B, T, C), dtype)}


def flops(B, T, C):
    return B * T * C + C


def chain(B, T, C):
    return 4 * B * T
