"""durbin: y solves the Yule-Walker equations of the autocorrelations r."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 40},
    "SMALL": {"N": 120},
    "MEDIUM": {"N": 400},
    "LARGE": {"N": 2000},
    "EXTRALARGE": {"N": 4000},
}
OUTPUTS = ("y",)
LEAST = {"N": 1}


def durbin(r: po.f64["N"], y: po.f64["N"]):
    N = r.shape[0]
    z = np.empty(N, dtype=r.dtype)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def durbin_numpy(r: po.f64["N"], y: po.f64["N"]):
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha


def make(N, dtype):
    return {"r": (N + 1.0 - np.arange(N)).astype(dtype), "y": np.zeros(N, dtype)}


def randomize(arguments, rng):
    """Make correlations that fall off fast enough for a positive definite matrix."""
    r = arguments["r"]
    r[...] = rng.uniform(-0.4, 0.4, r.shape) * 0.5 ** np.arange(len(r))
    arguments["y"][...] = rng.uniform(-1.0, 1.0, r.shape)


def flops(N):
    return (N - 1) * 5 + 4 * (N * (N - 1) // 2)


def chain(N):
    """Say how far the published correlations amplify a rounding: about as the cube of N."""
    return N**3 // 8 + 32 * N
