"""rope: rotary position embedding of the two halves of each head."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"B": 2, "T": 5, "H": 2, "D": 3},
    "SMALL": {"B": 2, "T": 16, "H": 4, "D": 8},
    "MEDIUM": {"B": 4, "T": 64, "H": 4, "D": 16},
    "LARGE": {"B": 8, "T": 512, "H": 8, "D": 32},
}
OUTPUTS = ("return",)
DTYPE = np.float32
EXACT = False


def rope(x: po.f32["B,T,H,D2"], base: float):
    B, T, H, D = x.shape
    half = D // 2
    out = np.empty_like(x)
    for b in range(B):
        for t in range(T):
            for h in range(H):
                for d in range(half):
                    angle = t * base ** (-d / half)
                    c, s = np.cos(angle), np.sin(angle)
                    out[b, t, h, d] = x[b, t, h, d] * c - x[b, t, h, d + half] * s
                    out[b, t, h, d + half] = x[b, t, h, d] * s + x[b, t, h, d + half] * c
    return out


def rope_numpy(x: po.f32["B,T,H,D2"], base: float):
    _, T, _, D = x.shape
    half = D // 2
    freqs = base ** (-np.arange(half) / half)
    angles = np.arange(T)[:, None] * freqs[None, :]
    cos = np.cos(angles).astype(x.dtype)[None, :, None, :]
    sin = np.sin(angles).astype(x.dtype)[None, :, None, :]
    x1, x2 = x[..., :half], x[..., half:]
    return np.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], axis=-1)


def make(B, T, H, D, dtype):
    return {"x": normal(1, (B, T, H, 2 * D), dtype), "base": 10000.0}


def flops(B, T, H, D):
    return 6 * B * T * H * D


def chain(B, T, H, D):
    return 40
