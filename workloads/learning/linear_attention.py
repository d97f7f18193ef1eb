"""linear-attention: attention through feature maps, its causal state carried along time."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 6, "D": 4, "E": 3},
    "SMALL": {"T": 24, "D": 8, "E": 6},
    "MEDIUM": {"T": 100, "D": 16, "E": 16},
    "LARGE": {"T": 1024, "D": 64, "E": 64},
}
OUTPUTS = ("return",)
DTYPE = np.float32


def linear_attention_numpy(q: po.f32["T,D"], k: po.f32["T,D"], v: po.f32["T,E"]):
    T, D = q.shape
    phi_q = np.where(q > 0, q + 1, np.exp(np.minimum(q, 0)))
    phi_k = np.where(k > 0, k + 1, np.exp(np.minimum(k, 0)))
    state = np.zeros((D, v.shape[1]), dtype=q.dtype)
    norm = np.zeros(D, dtype=q.dtype)
    out = np.empty_like(v)
    for t in range(T):
        state += np.outer(phi_k[t], v[t])
        norm += phi_k[t]
        out[t] = phi_q[t] @ state / (phi_q[t] @ norm + 1e-6)
    return out


def make(T, D, E, dtype):
    return {
        "q": normal(1, (T, D), dtype),
        "k": normal(2, (T, D), dtype),
        "v": normal(3, (T, E), dtype),
    }


def flops(T, D, E):
    return 4 * T * D * E


def chain(T, D, E):
    return 8 * (T + D) + 20
