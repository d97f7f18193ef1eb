"""bilateral: smoothing by weights of distance and of likeness."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 8, "N": 10, "RADIUS": 1},
    "SMALL": {"M": 20, "N": 24, "RADIUS": 2},
    "MEDIUM": {"M": 60, "N": 60, "RADIUS": 2},
    "LARGE": {"M": 300, "N": 300, "RADIUS": 3},
    "EXTRALARGE": {"M": 1000, "N": 1000, "RADIUS": 3},
}
OUTPUTS = ("return",)
EXACT = False


def bilateral(image: po.f64["M,N"], radius: int, spatial: po.f64, likeness: po.f64):
    M, N = image.shape
    out = np.zeros((M, N))
    for i in range(M):
        for j in range(N):
            total = 0.0
            weight = 0.0
            for k in range(max(i - radius, 0), min(i + radius + 1, M)):
                for m in range(max(j - radius, 0), min(j + radius + 1, N)):
                    d = image[k, m] - image[i, j]
                    r2 = (k - i) ** 2 + (m - j) ** 2
                    w = math.exp(-r2 / (2.0 * spatial**2) - d * d / (2.0 * likeness**2))
                    total += w * image[k, m]
                    weight += w
            out[i, j] = total / weight
    return out


def bilateral_numpy(image: po.f64["M,N"], radius: int, spatial: po.f64, likeness: po.f64):
    M, N = image.shape
    padded = np.pad(image, radius)
    inside = np.pad(np.ones_like(image), radius)
    total = np.zeros_like(image)
    weight = np.zeros_like(image)
    for dy in range(2 * radius + 1):
        for dx in range(2 * radius + 1):
            near = padded[dy : dy + M, dx : dx + N]
            r2 = (dy - radius) ** 2 + (dx - radius) ** 2
            w = np.exp(-r2 / (2 * spatial**2) - (near - image) ** 2 / (2 * likeness**2))
            w *= inside[dy : dy + M, dx : dx + N]
            total += w * near
            weight += w
    return total / weight


def make(M, N, RADIUS, dtype):
    return {
        "image": normal(1, (M, N), dtype),
        "radius": RADIUS,
        "spatial": 2.0,
        "likeness": 0.5,
    }


def chain(M, N, RADIUS):
    return 1000
