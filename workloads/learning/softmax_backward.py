"""softmax-backward: the gradient of a softmax over rows, written over the gradient it came from."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 6, "V": 10},
    "SMALL": {"N": 40, "V": 60},
    "MEDIUM": {"N": 256, "V": 400},
    "LARGE": {"N": 2048, "V": 2048},
}
OUTPUTS = ("grad",)
DTYPE = np.float32


def softmax_backward(probs: po.f32["N,V"], grad: po.f32["N,V"]):
    N, V = probs.shape
    for i in range(N):
        total = grad.dtype.type(0)
        for j in range(V):
            total += probs[i, j] * grad[i, j]
        for j in range(V):
            grad[i, j] = probs[i, j] * (grad[i, j] - total)


def softmax_backward_numpy(probs: po.f32["N,V"], grad: po.f32["N,V"]):
    grad -= np.sum(probs * grad, axis=-1, keepdims=True)
    grad *= probs


def make(N, V, dtype):
    probs = positive(1, (N, V), dtype)
    return {
        "probs": probs / np.maximum(probs.sum(-1, keepdims=True), 1),
        "grad": normal(2, (N, V), dtype),
    }


def flops(N, V):
    return 4 * N * V


def chain(N, V):
    return V + 4
