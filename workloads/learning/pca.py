"""pca: the covariance of centred data, and the data along given directions."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10, "D": 4, "K": 2},
    "SMALL": {"N": 60, "D": 8, "K": 3},
    "MEDIUM": {"N": 400, "D": 20, "K": 4},
    "LARGE": {"N": 4000, "D": 256, "K": 32},
}
OUTPUTS = ("return[0]", "return[1]")
DTYPE = np.float32
LEAST = {"N": 2}


def pca_numpy(X: po.f32["N,D"], directions: po.f32["D,K"]):
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / (X.shape[0] - 1)
    return covariance, centred @ directions


def make(N, D, K, dtype):
    return {"X": normal(1, (N, D), dtype), "directions": normal(2, (D, K), dtype)}


def flops(N, D, K):
    return 2 * N * D + 2 * N * D * D + 2 * N * D * K


def chain(N, D, K):
    return 8 * (N + D)
