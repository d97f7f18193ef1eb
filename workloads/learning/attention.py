"""attention: one head: a softmax of scaled scores, times the values."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 6, "S": 8, "D": 4},
    "SMALL": {"T": 20, "S": 24, "D": 16},
    "MEDIUM": {"T": 100, "S": 128, "D": 32},
    "LARGE": {"T": 1024, "S": 1024, "D": 64},
}
OUTPUTS = ("return",)
DTYPE = np.float32
EXACT = False
LEAST = {"S": 1, "D": 1}


def attention(q: po.f32["T,D"], k: po.f32["S,D"], v: po.f32["S,D"]):
    T, D = q.shape
    S = k.shape[0]
    out = np.zeros_like(q)
    for t in range(T):
        scores = np.empty(S, dtype=q.dtype)
        top = q.dtype.type(-np.inf)
        for s in range(S):
            score = q.dtype.type(0)
            for d in range(D):
                score += q[t, d] * k[s, d]
            scores[s] = score / np.sqrt(D).astype(q.dtype)
            top = max(top, scores[s])
        total = q.dtype.type(0)
        for s in range(S):
            scores[s] = np.exp(scores[s] - top)
            total += scores[s]
        for s in range(S):
            for d in range(D):
                out[t, d] += scores[s] / total * v[s, d]
    return out


def attention_numpy(q: po.f32["T,D"], k: po.f32["S,D"], v: po.f32["S,D"]):
    scores = q @ k.T / np.sqrt(q.shape[-1]).astype(q.dtype)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v


def make(T, S, D, dtype):
    return {
        "q": normal(1, (T, D), dtype),
        "k": normal(2, (S, D), dtype),
        "v": normal(3, (S, D), dtype),
    }


def flops(T, S, D):
    return T * S * (4 * D + 6)


def chain(T, S, D):
    return 4 * (S + D) + 20
