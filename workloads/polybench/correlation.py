"""correlation: the correlation matrix of the columns of data, which become normalised."""

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
OUTPUTS = ("corr", "data")
LEAST = {"N": 1}


def correlation(data: po.f64["N,M"], corr: po.f64["M,M"]):
    N, M = data.shape
    mean = np.empty(M, dtype=data.dtype)
    stddev = np.empty(M, dtype=data.dtype)
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for j in range(M):
        stddev[j] = 0.0
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= N
        stddev[j] = np.sqrt(stddev[j])
        # a constant column would be divided by zero
        stddev[j] = 1.0 if stddev[j] <= 0.1 else stddev[j]
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
            data[i, j] /= np.sqrt(N) * stddev[j]
    for i in range(M):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]


def correlation_numpy(data: po.f64["N,M"], corr: po.f64["M,M"]):
    N, M = data.shape
    mean = data.mean(axis=0)
    stddev = np.sqrt(((data - mean) ** 2).mean(axis=0))
    stddev = np.where(stddev <= 0.1, 1.0, stddev)
    data -= mean
    data /= np.sqrt(N) * stddev
    corr[:] = data.T @ data
    for i in range(M):
        corr[i, i] = 1.0


def make(M, N, dtype):
    i, j = np.ogrid[:N, :M]
    return {
        "data": (i * j / max(M, 1) + i).astype(dtype),
        "corr": np.zeros((M, M), dtype),
    }


def reference(data, corr):
    N, M = data.shape
    centred = data - data.sum(axis=0) / N
    stddev = np.sqrt(np.einsum("ij,ij->j", centred, centred) / N)
    stddev[stddev <= 0.1] = 1.0
    centred /= (N**0.5 * stddev).astype(data.dtype)
    product = centred.T @ centred
    product[np.arange(M), np.arange(M)] = 1.0
    return {"corr": product, "data": centred}


def flops(M, N):
    return M * (N + 1) + M * (4 * N + 2) + 3 * N * M + M * (M - 1) // 2 * 2 * N


def chain(M, N):
    return 8 * N
