"""bilinear: an image resized, each pixel between its four neighbours."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 6, "N": 8, "P": 10, "Q": 12},
    "SMALL": {"M": 20, "N": 24, "P": 30, "Q": 36},
    "MEDIUM": {"M": 100, "N": 120, "P": 150, "Q": 180},
    "LARGE": {"M": 800, "N": 800, "P": 1000, "Q": 1000},
    "EXTRALARGE": {"M": 2000, "N": 2000, "P": 3000, "Q": 3000},
}
OUTPUTS = ("return",)
LEAST = {"M": 1, "N": 1}


def bilinear(image: po.f64["M,N"], P: int, Q: int):
    M, N = image.shape
    out = np.zeros((P, Q))
    for i in range(P):
        y = (i + 0.5) * M / P - 0.5
        y0 = int(np.floor(y))
        fy = y - y0
        y1 = min(max(y0 + 1, 0), M - 1)
        y0 = min(max(y0, 0), M - 1)
        for j in range(Q):
            x = (j + 0.5) * N / Q - 0.5
            x0 = int(np.floor(x))
            fx = x - x0
            x1 = min(max(x0 + 1, 0), N - 1)
            x0 = min(max(x0, 0), N - 1)
            top = (1 - fx) * image[y0, x0] + fx * image[y0, x1]
            bottom = (1 - fx) * image[y1, x0] + fx * image[y1, x1]
            out[i, j] = (1 - fy) * top + fy * bottom
    return out


def bilinear_numpy(image: po.f64["M,N"], P: int, Q: int):
    M, N = image.shape
    y = (np.arange(P) + 0.5) * M / P - 0.5
    x = (np.arange(Q) + 0.5) * N / Q - 0.5
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    fy = (y - y0)[:, None]
    fx = (x - x0)[None, :]
    y1 = np.clip(y0 + 1, 0, M - 1)
    x1 = np.clip(x0 + 1, 0, N - 1)
    y0 = np.clip(y0, 0, M - 1)
    x0 = np.clip(x0, 0, N - 1)
    top = (1 - fx) * image[y0][:, x0] + fx * image[y0][:, x1]
    bottom = (1 - fx) * image[y1][:, x0] + fx * image[y1][:, x1]
    return (1 - fy) * top + fy * bottom


def make(M, N, P, Q, dtype):
    return {"image": normal(1, (M, N), dtype), "P": P, "Q": Q}
