"""multi-head-attention: projections, heads split off by reshape, softmax, projection back."""

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
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"H": 1, "T": 1}


def softmax(x):
    exps = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exps / np.sum(exps, axis=-1, keepdims=True)


def multi_head_attention_numpy(
    x: po.f32["B,T,C"], w_qkv: po.f32["C,C3"], w_out: po.f32["C,C"], n_head: int
):
    B, T, C = x.shape
    head = C // n_head
    qkv = x @ w_qkv
    q = qkv[:, :, :C].reshape(B, T, n_head, head).transpose(0, 2, 1, 3)
    k = qkv[:, :, C : 2 * C].reshape(B, T, n_head, head).transpose(0, 2, 1, 3)
    v = qkv[:, :, 2 * C :].reshape(B, T, n_head, head).transpose(0, 2, 1, 3)
    scores = (q @ k.transpose(0, 1, 3, 2)) * (1.0 / np.sqrt(head)).astype(x.dtype)
    mask = np.tril(np.ones((T, T), dtype=np.bool_))
    weights = softmax(np.where(mask, scores, x.dtype.type(-1e10)))
    y = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, C)
    return y @ w_out


def make(B, T, H, D, dtype):
    C = H * D
    scale = max(C, 1) ** -0.5
    return {
        "x": normal(1, (B, T, C), dtype),
        "w_qkv": normal(2, (C, 3 * C), dtype, scale),
        "w_out": normal(3, (C, C), dtype, scale),
        "n_head": H,
    }


def flops(B, T, H, D):
    C = H * D
    return B * T * (8 * C * C + 4 * T * C + 6 * T * H)


def chain(B, T, H, D):
    return 4 * (T + H * D) + 40
