"""mlp: three layers and a softmax."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 3, "C": 4, "S0": 6, "S1": 5, "S2": 3},
    "SMALL": {"N": 8, "C": 3, "S0": 30, "S1": 20, "S2": 10},
    "MEDIUM": {"N": 32, "C": 10, "S0": 100, "S1": 50, "S2": 20},
    "LARGE": {"N": 256, "C": 512, "S0": 1024, "S1": 1024, "S2": 512},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"S2": 1}


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    exps = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exps / np.sum(exps, axis=-1, keepdims=True)


def mlp_numpy(
    input: po.f32["N,C"],
    w1: po.f32["C,S0"],
    b1: po.f32["S0"],
    w2: po.f32["S0,S1"],
    b2: po.f32["S1"],
    w3: po.f32["S1,S2"],
    b3: po.f32["S2"],
):
    x = relu(input @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def make(N, C, S0, S1, S2, dtype):
    return {
        "input": normal(1, (N, C), dtype),
        "w1": normal(2, (C, S0), dtype, max(C, 1) ** -0.5),
        "b1": normal(3, (S0,), dtype),
        "w2": normal(4, (S0, S1), dtype, max(S0, 1) ** -0.5),
        "b2": normal(5, (S1,), dtype),
        "w3": normal(6, (S1, S2), dtype, max(S1, 1) ** -0.5),
        "b3": normal(7, (S2,), dtype),
    }


def flops(N, C, S0, S1, S2):
    return 2 * N * (C * S0 + S0 * S1 + S1 * S2) + 5 * N * S2


def chain(N, C, S0, S1, S2):
    return 8 * (C + S0 + S1 + S2) + 40
