"""conv2d-nchw: a convolution in NCHW layout padding 1 and stride 2, by kernel offsets."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"K": 3, "N": 2, "C": 3, "H": 8, "W": 9, "O": 4},
    "SMALL": {"K": 3, "N": 2, "C": 3, "H": 16, "W": 16, "O": 8},
    "MEDIUM": {"K": 3, "N": 4, "C": 3, "H": 32, "W": 32, "O": 16},
    "LARGE": {"K": 3, "N": 8, "C": 16, "H": 128, "W": 128, "O": 32},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"H": 1, "W": 1, "K": 1}


def conv2d_nchw(x: po.f32["N,C,H,W"], weight: po.f32["O,C,K,K"]):
    N, C, H, W = x.shape
    O, _, K, _ = weight.shape
    H_out = (H + 2 - K) // 2 + 1
    W_out = (W + 2 - K) // 2 + 1
    out = np.zeros((N, O, H_out, W_out), dtype=x.dtype)
    for n in range(N):
        for o in range(O):
            for i in range(H_out):
                for j in range(W_out):
                    for c in range(C):
                        for p in range(K):
                            for q in range(K):
                                row = 2 * i + p - 1
                                column = 2 * j + q - 1
                                if 0 <= row < H and 0 <= column < W:
                                    out[n, o, i, j] += x[n, c, row, column] * weight[o, c, p, q]
    return out


def conv2d_nchw_numpy(x: po.f32["N,C,H,W"], weight: po.f32["O,C,K,K"]):
    stride, pad = 2, 1
    N, _, H, W = x.shape
    O, _, K, _ = weight.shape
    H_out = (H + 2 * pad - K) // stride + 1
    W_out = (W + 2 * pad - K) // stride + 1
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out = np.zeros((N, O, H_out, W_out), dtype=x.dtype)
    for p in range(K):
        for q in range(K):
            patch = padded[:, :, p : p + stride * H_out : stride, q : q + stride * W_out : stride]
            out += np.einsum("nchw,oc->nohw", patch, weight[:, :, p, q])
    return out


def make(K, N, C, H, W, O, dtype):
    scale = max(K * K * C, 1) ** -0.5
    return {"x": normal(1, (N, C, H, W), dtype), "weight": normal(2, (O, C, K, K), dtype, scale)}


def flops(K, N, C, H, W, O):
    H_out, W_out = (max((extent + 2 - K) // 2 + 1, 0) for extent in (H, W))
    return 2 * N * O * H_out * W_out * C * K * K


def chain(K, N, C, H, W, O):
    return 4 * C * K * K
