"""softmax: the exponentials of each row over their sum, shifted by the row's maximum."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6, "V": 10},
    "SMALL": {"N": 40, "V": 60},
    "MEDIUM": {"N": 256, "V": 400},
    "LARGE": {"N": 2048, "V": 4096},
}
OUTPUTS = ("probs",)
DTYPE = np.float32
EXACT = False
LEAST = {"V": 1}


def softmax(logits: po.f32["N,V"], probs: po.f32["N,V"]):
    N, V = logits.shape
    for i in range(N):
        top = logits[i, 0]
        for j in range(1, V):
            top = max(top, logits[i, j])
        total = logits[i, 0] - logits[i, 0]
        for j in range(V):
            probs[i, j] = np.exp(logits[i, j] - top)
            total += probs[i, j]
        for j in range(V):
            probs[i, j] = probs[i, j] / total


def softmax_numpy(logits: po.f32["N,V"], probs: po.f32["N,V"]):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    exps = np.exp(shifted)
    probs[:] = exps / np.sum(exps, axis=-1, keepdims=True)


def make(N, V, dtype):
    return {"logits": normal(1, (N, V), dtype), "probs": np.zeros((N, V), dtype)}


def flops(N, V):
    return 5 * N * V


def chain(N, V):
    return 2 * V + 20
