"""knn: squared distances of all pairs, and for every query its nearest point."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"M": 4, "N": 6, "D": 3},
    "SMALL": {"M": 20, "N": 30, "D": 8},
    "MEDIUM": {"M": 100, "N": 150, "D": 16},
    "LARGE": {"M": 1000, "N": 2000, "D": 64},
}
OUTPUTS = ("return[0]", "return[1]")
DTYPE = np.float32
LEAST = {"N": 1}


def knn(queries: po.f32["M,D"], points: po.f32["N,D"]):
    M, D = queries.shape
    N = points.shape[0]
    distances = np.zeros((M, N), dtype=queries.dtype)
    nearest = np.zeros(M, dtype=np.int64)
    for i in range(M):
        for j in range(N):
            for d in range(D):
                gap = queries[i, d] - points[j, d]
                distances[i, j] += gap * gap
        for j in range(N):
            if distances[i, j] < distances[i, nearest[i]]:
                nearest[i] = j
    return distances, nearest


def knn_numpy(queries: po.f32["M,D"], points: po.f32["N,D"]):
    squares = np.sum(queries**2, axis=1)[:, None] + np.sum(points**2, axis=1)
    distances = squares - 2 * queries @ points.T
    return np.maximum(distances, 0), np.argmin(distances, axis=1)


def make(M, N, D, dtype):
    return {"queries": normal(1, (M, D), dtype), "points": normal(2, (N, D), dtype)}


def flops(M, N, D):
    return M * N * (2 * D + 3)


def chain(M, N, D):
    return 8 * D + 8
