"""covariance: the covariance matrix of the columns of data, which become centred."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"M": 28, "N": 32},
    "SMALL": {"M": 80, "N": 100},
    "MEDIUM": {"M": 240, "N": 260},
    "LARGE": {"M": 1200, "N": 1400},
    "EXTRALARGE": {"M": 2600, "N": 3000},
}
OUTPUTS = ("cov", "data")
LEAST = {"N": 2}


def covariance(data: po.f64["N,M"], cov: po.f64["M,M"]):
    N, M = data.shape
    mean = np.empty(M, dtype=data.dtype)
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
    for i in range(M):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= N - 1
            cov[j, i] = cov[i, j]


def covariance_numpy(data: po.f64["N,M"], cov: po.f64["M,M"]):
    N = data.shape[0]
    data -= data.mean(axis=0)
    cov[:] = data.T @ data / (N - 1)


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    return {
        "data": (i * j / max(M, 1)).astype(dtype),
        "cov": np.zeros((M, M), dtype),
    }


def reference(data, cov):
    N = len(data)
    centred = data - data.sum(axis=0) / N
    return {"cov": (centred.T @ centred) / (N - 1), "data": centred}


def flops(M, N):
    return M * (N + 1) + N * M + M * (M + 1) // 2 * (2 * N + 1)


def chain(M, N):
    return 4 * N
