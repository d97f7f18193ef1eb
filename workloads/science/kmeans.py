"""kmeans: one step, points to their nearest centre, centres to the mean of their points."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 20, "K": 3, "D": 2},
    "SMALL": {"N": 100, "K": 4, "D": 3},
    "MEDIUM": {"N": 1000, "K": 8, "D": 4},
    "LARGE": {"N": 50000, "K": 16, "D": 8},
    "EXTRALARGE": {"N": 200000, "K": 32, "D": 16},
}
OUTPUTS = ("labels", "centers", "return")
LEAST = {"K": 1}


def kmeans(points: po.f64["N,D"], centers: po.f64["K,D"], labels: po.i64["N"]):
    N, D = points.shape
    K = centers.shape[0]
    inertia = 0.0
    sums = np.zeros((K, D))
    counts = np.zeros(K, dtype=np.int64)
    for i in range(N):
        best = np.inf
        label = 0
        for k in range(K):
            distance = 0.0
            for d in range(D):
                diff = points[i, d] - centers[k, d]
                distance += diff * diff
            if distance < best:
                best = distance
                label = k
        labels[i] = label
        inertia += best
        counts[label] += 1
        for d in range(D):
            sums[label, d] += points[i, d]
    for k in range(K):
        if counts[k] > 0:
            for d in range(D):
                centers[k, d] = sums[k, d] / counts[k]
    return inertia


def kmeans_numpy(points: po.f64["N,D"], centers: po.f64["K,D"], labels: po.i64["N"]):
    distances = ((points[:, np.newaxis, :] - centers[np.newaxis, :, :]) ** 2).sum(axis=2)
    labels[:] = np.argmin(distances, axis=1)
    for k in range(centers.shape[0]):
        members = labels == k
        if members.any():
            centers[k] = points[members].mean(axis=0)
    return distances.min(axis=1).sum()


def make(N, K, D, dtype):
    return {
        "points": normal(1, (N, D), dtype),
        "centers": normal(2, (K, D), dtype),
        "labels": np.zeros(N, np.int64),
    }
