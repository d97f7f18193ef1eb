"""lenet: two convolutions, two poolings and three layers on small images."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 1, "H": 16, "W": 18},
    "SMALL": {"N": 2, "H": 16, "W": 16},
    "MEDIUM": {"N": 4, "H": 28, "W": 28},
    "LARGE": {"N": 32, "H": 28, "W": 28},
}
OUTPUTS = ("return",)
DTYPE = np.float32
LEAST = {"H": 14, "W": 14}


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


def maxpool2d(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def lenet_numpy(
    input: po.f32["N,H,W,1"],
    conv1: po.f32["5,5,1,6"],
    conv1bias: po.f32["6"],
    conv2: po.f32["5,5,6,16"],
    conv2bias: po.f32["16"],
    fc1w: po.f32["F,120"],
    fc1b: po.f32["120"],
    fc2w: po.f32["120,84"],
    fc2b: po.f32["84"],
    fc3w: po.f32["84,10"],
    fc3b: po.f32["10"],
):
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def _after(extent):
    return max(((extent - 4) // 2 - 4) // 2, 0)


def make(N, H, W, dtype):
    flat = 16 * _after(H) * _after(W)
    return {
        "input": normal(1, (N, H, W, 1), dtype),
        "conv1": normal(2, (5, 5, 1, 6), dtype, 0.2),
        "conv1bias": normal(3, (6,), dtype),
        "conv2": normal(4, (5, 5, 6, 16), dtype, 0.1),
        "conv2bias": normal(5, (16,), dtype),
        "fc1w": normal(6, (flat, 120), dtype, 0.06),
        "fc1b": normal(7, (120,), dtype),
        "fc2w": normal(8, (120, 84), dtype, 0.1),
        "fc2b": normal(9, (84,), dtype),
        "fc3w": normal(10, (84, 10), dtype, 0.1),
        "fc3b": normal(11, (10,), dtype),
    }


def flops(N, H, W):
    first = max(H - 4, 0) * max(W - 4, 0) * 300
    second = max((H - 4) // 2 - 4, 0) * max((W - 4) // 2 - 4, 0) * 4800
    return N * (first + second + 2 * (16 * _after(H) * _after(W) * 120 + 120 * 84 + 840))


def chain(N, H, W):
    return 8 * (25 + 150 + 16 * _after(H) * _after(W) + 204)
