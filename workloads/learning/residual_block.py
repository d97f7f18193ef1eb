"""residual-block: three convolutions with batch normalisation, added to their input."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 1, "H": 5, "W": 6, "C1": 4, "C2": 2},
    "SMALL": {"N": 2, "H": 8, "W": 8, "C1": 8, "C2": 4},
    "MEDIUM": {"N": 2, "H": 14, "W": 14, "C1": 32, "C2": 8},
    "LARGE": {"N": 8, "H": 56, "W": 56, "C1": 64, "C2": 16},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"N": 1}


def relu(x):
    return np.maximum(x, 0)


def conv2d(input, weights):
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
    return output


def batchnorm2d(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def residual_block_numpy(
    input: po.f32["N,H,W,C1"],
    conv1: po.f32["1,1,C1,C2"],
    conv2: po.f32["3,3,C2,C2"],
    conv3: po.f32["1,1,C2,C1"],
):
    padded = np.zeros(
        (input.shape[0], input.shape[1] + 2, input.shape[2] + 2, conv1.shape[3]), dtype=input.dtype
    )
    padded[:, 1:-1, 1:-1, :] = conv2d(input, conv1)
    x = batchnorm2d(padded)
    x = relu(x)
    x = conv2d(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d(x, conv3)
    x = batchnorm2d(x)
    return relu(x + input)


def make(N, H, W, C1, C2, dtype):
    return {
        "input": normal(1, (N, H, W, C1), dtype),
        "conv1": normal(2, (1, 1, C1, C2), dtype, max(C1, 1) ** -0.5),
        "conv2": normal(3, (3, 3, C2, C2), dtype, max(9 * C2, 1) ** -0.5),
        "conv3": normal(4, (1, 1, C2, C1), dtype, max(C2, 1) ** -0.5),
    }


def flops(N, H, W, C1, C2):
    return N * H * W * (4 * C1 * C2 + 18 * C2 * C2 + 16 * C2 + 8 * C1)


def chain(N, H, W, C1, C2):
    return 50 * (C1 + 9 * C2 + N)
