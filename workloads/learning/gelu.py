"""gelu: the Gaussian error unit in its tanh form."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6, "C": 12},
    "SMALL": {"N": 40, "C": 64},
    "MEDIUM": {"N": 256, "C": 384},
    "LARGE": {"N": 4096, "C": 1024},
}
OUTPUTS = ("return",)
DTYPE = np.float32
EXACT = False


def gelu(x: po.f32["N,C"]):
    N, C = x.shape
    out = np.empty_like(x)
    for i in range(N):
        for j in range(C):
            cube = 0.044715 * x[i, j] * x[i, j] * x[i, j]
            out[i, j] = 0.5 * x[i, j] * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x[i, j] + cube)))
    return out


def gelu_numpy(x: po.f32["N,C"]):
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def make(N, C, dtype):
    return {"x": normal(1, (N, C), dtype)}


def flops(N, C):
    return 9 * N * C


def chain(N, C):
    return 20
