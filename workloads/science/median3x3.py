"""median3x3: each inner pixel becomes the median of its neighbourhood."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 8, "N": 10},
    "SMALL": {"M": 40, "N": 50},
    "MEDIUM": {"M": 150, "N": 150},
    "LARGE": {"M": 1000, "N": 1000},
    "EXTRALARGE": {"M": 3000, "N": 3000},
}
OUTPUTS = ("return",)


def median3x3(image: po.f64["M,N"]):
    M, N = image.shape
    out = image.copy()
    window = np.zeros(9)
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            for di in range(3):
                for dj in range(3):
                    window[3 * di + dj] = image[i + di - 1, j + dj - 1]
            for a in range(5):
                least = a
                for b in range(a + 1, 9):
                    if window[b] < window[least]:
                        least = b
                kept = window[a]
                window[a] = window[least]
                window[least] = kept
            out[i, j] = window[4]
    return out


def make(M, N, dtype):
    return {"image": normal(1, (M, N), dtype)}


def reference(image):
    out = image.copy()
    if min(image.shape) > 2:
        views = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
        out[1:-1, 1:-1] = np.median(views, axis=(2, 3))
    return {"return": out}
