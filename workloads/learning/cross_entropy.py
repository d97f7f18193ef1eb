"""cross-entropy: the loss of a classifier and its gradient in one pass over the logits."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"N": 6, "V": 10},
    "SMALL": {"N": 40, "V": 60},
    "MEDIUM": {"N": 256, "V": 400},
    "LARGE": {"N": 1024, "V": 8192},
}
OUTPUTS = ("losses", "dlogits")
DTYPE = np.float32
EXACT = False
LEAST = {"V": 1}


def cross_entropy(
    logits: po.f32["N,V"], targets: po.i64["N"], losses: po.f32["N"], dlogits: po.f32["N,V"]
):
    N, V = logits.shape
    for i in range(N):
        top = logits[i, 0]
        for j in range(1, V):
            top = max(top, logits[i, j])
        total = logits.dtype.type(0)
        for j in range(V):
            dlogits[i, j] = np.exp(logits[i, j] - top)
            total += dlogits[i, j]
        for j in range(V):
            dlogits[i, j] = dlogits[i, j] / total
            if j == targets[i]:
                losses[i] = -np.log(dlogits[i, j])
                dlogits[i, j] -= 1
            dlogits[i, j] /= N


def cross_entropy_numpy(
    logits: po.f32["N,V"], targets: po.i64["N"], losses: po.f32["N"], dlogits: po.f32["N,V"]
):
    N = logits.shape[0]
    shifted = logits - logits.max(axis=1, keepdims=True)
    probs = np.exp(shifted)
    probs /= probs.sum(axis=1, keepdims=True)
    losses[:] = -np.log(probs[np.arange(N), targets])
    probs[np.arange(N), targets] -= 1
    dlogits[:] = probs / N


def make(N, V, dtype):
    return {
        "logits": normal(1, (N, V), dtype),
        "targets": integers(2, V, N),
        "losses": np.zeros(N, dtype),
        "dlogits": np.zeros((N, V), dtype),
    }


def randomize(arguments, rng):
    logits = arguments["logits"]
    logits[:] = rng.uniform(-1, 1, logits.shape)


def flops(N, V):
    return 6 * N * V


def chain(N, V):
    return 4 * V + 20
