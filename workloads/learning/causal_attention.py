"""causal-attention: packed queries, keys and values; each step attends to itself and before."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"B": 2, "T": 5, "H": 2, "D": 4},
    "SMALL": {"B": 2, "T": 16, "H": 4, "D": 8},
    "MEDIUM": {"B": 4, "T": 64, "H": 4, "D": 16},
    "LARGE": {"B": 4, "T": 256, "H": 8, "D": 64},
}
OUTPUTS = ("out", "preatt", "att")
DTYPE = np.float32
EXACT = False
LEAST = {"T": 1}


def causal_attention(
    qkv: po.f32["B,T,3,H,D"],
    out: po.f32["B,T,H,D"],
    preatt: po.f32["B,H,T,T"],
    att: po.f32["B,H,T,T"],
):
    B, T, _, H, D = qkv.shape
    scale = (1.0 / np.sqrt(D)).astype(qkv.dtype)
    for b in range(B):
        for t in range(T):
            for h in range(H):
                top = qkv.dtype.type(-10000.0)
                for s in range(t + 1):
                    value = qkv.dtype.type(0)
                    for i in range(D):
                        value += qkv[b, t, 0, h, i] * qkv[b, s, 1, h, i]
                    value *= scale
                    if value > top:
                        top = value
                    preatt[b, h, t, s] = value
                total = qkv.dtype.type(0)
                for s in range(t + 1):
                    value = np.exp(preatt[b, h, t, s] - top)
                    total += value
                    att[b, h, t, s] = value
                inverse = 0 if total == 0 else 1 / total
                for s in range(T):
                    if s <= t:
                        att[b, h, t, s] *= inverse
                    else:
                        att[b, h, t, s] = 0
                for i in range(D):
                    out[b, t, h, i] = 0
                for s in range(t + 1):
                    for i in range(D):
                        out[b, t, h, i] += att[b, h, t, s] * qkv[b, s, 2, h, i]


def causal_attention_numpy(
    qkv: po.f32["B,T,3,H,D"],
    out: po.f32["B,T,H,D"],
    preatt: po.f32["B,H,T,T"],
    att: po.f32["B,H,T,T"],
):
    _, T, _, _, D = qkv.shape
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = np.einsum("bthd,bshd->bhts", q, k) * (1.0 / np.sqrt(D)).astype(qkv.dtype)
    seen = np.arange(T)[:, None] >= np.arange(T)
    preatt[:] = np.where(seen, scores, 0)
    masked = np.where(seen, scores, -np.inf)
    weights = np.exp(masked - masked.max(axis=-1, keepdims=True))
    att[:] = weights / weights.sum(axis=-1, keepdims=True)
    out[:] = np.einsum("bhts,bshd->bthd", att, v)


def make(B, T, H, D, dtype):
    return {
        "qkv": normal(1, (B, T, 3, H, D), dtype),
        "out": np.zeros((B, T, H, D), dtype),
        "preatt": np.zeros((B, H, T, T), dtype),
        "att": np.zeros((B, H, T, T), dtype),
    }


def randomize(arguments, rng):
    qkv = arguments["qkv"]
    qkv[:] = rng.uniform(-1, 1, qkv.shape)


def flops(B, T, H, D):
    return B * H * T * (T + 1) // 2 * (4 * D + 6)


def chain(B, T, H, D):
    return 4 * (T + D) + 40
