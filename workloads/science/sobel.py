"""sobel: the magnitude of an image's gradient, from two three by three filters."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 8, "N": 10},
    "SMALL": {"M": 40, "N": 50},
    "MEDIUM": {"M": 200, "N": 200},
    "LARGE": {"M": 1500, "N": 1500},
    "EXTRALARGE": {"M": 4000, "N": 4000},
}
OUTPUTS = ("return",)


def sobel(image: po.f64["M,N"]):
    M, N = image.shape
    out = np.zeros((M, N))
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            gx = image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2 * image[i - 1, j] + image[i - 1, j + 1]
            out[i, j] = math.sqrt(gx * gx + gy * gy)
    return out


def sobel_numpy(image: po.f64["M,N"]):
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    ky = kx.T
    m, n = image.shape
    gx = np.zeros_like(image)
    gy = np.zeros_like(image)
    for i in range(3):
        for j in range(3):
            part = image[i : m - 2 + i, j : n - 2 + j]
            gx[1:-1, 1:-1] += kx[i, j] * part
            gy[1:-1, 1:-1] += ky[i, j] * part
    return np.hypot(gx, gy)


LEAST = {"M": 2, "N": 2}


def make(M, N, dtype):
    return {"image": normal(1, (M, N), dtype)}


def chain(M, N):
    return 40
