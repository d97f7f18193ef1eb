"""conv2d: a convolution in NHWC layout, with bias."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"K": 3, "N": 2, "H": 8, "W": 9, "C_in": 3, "C_out": 4},
    "SMALL": {"K": 3, "N": 2, "H": 16, "W": 16, "C_in": 3, "C_out": 8},
    "MEDIUM": {"K": 5, "N": 4, "H": 32, "W": 32, "C_in": 3, "C_out": 16},
    "LARGE": {"K": 5, "N": 8, "H": 64, "W": 64, "C_in": 16, "C_out": 32},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"H": 1, "W": 1, "K": 1}


def conv2d(input: po.f32["N,H,W,C_in"], weights: po.f32["K,K,C_in,C_out"], bias: po.f32["C_out"]):
    N, H, W, C_in = input.shape
    K, _, _, C_out = weights.shape
    H_out = H - K + 1
    W_out = W - K + 1
    output = np.empty((N, H_out, W_out, C_out), dtype=input.dtype)
    for n in range(N):
        for i in range(H_out):
            for j in range(W_out):
                for o in range(C_out):
                    output[n, i, j, o] = bias[o]
                for p in range(K):
                    for q in range(K):
                        for c in range(C_in):
                            for o in range(C_out):
                                output[n, i, j, o] += (
                                    input[n, i + p, j + q, c] * weights[p, q, c, o]
                                )
    return output


def conv2d_numpy(
    input: po.f32["N,H,W,C_in"], weights: po.f32["K,K,C_in,C_out"], bias: po.f32["C_out"]
):
    K = weights.shape[0]
    N = input.shape[0]
    H_out = input.shape[1] - K + 1
    W_out = input.shape[2] - K + 1
    C_out = weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=input.dtype)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return output + bias


def make(K, N, H, W, C_in, C_out, dtype):
    scale = max(K * K * C_in, 1) ** -0.5
    return {
        "input": normal(1, (N, H, W, C_in), dtype),
        "weights": normal(2, (K, K, C_in, C_out), dtype, scale),
        "bias": normal(3, (C_out,), dtype),
    }


def flops(K, N, H, W, C_in, C_out):
    return 2 * N * max(H - K + 1, 0) * max(W - K + 1, 0) * C_out * C_in * K * K


def chain(K, N, H, W, C_in, C_out):
    return 4 * C_in * K * K
