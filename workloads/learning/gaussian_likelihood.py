"""gaussian-likelihood: the log-likelihood of points under diagonal Gaussians, and their mixture."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 10, "K": 3, "D": 4},
    "SMALL": {"N": 60, "K": 4, "D": 8},
    "MEDIUM": {"N": 400, "K": 8, "D": 16},
    "LARGE": {"N": 10000, "K": 16, "D": 64},
}
OUTPUTS = ("return[0]", "return[1]")
DTYPE = np.float32
LEAST = {"N": 1, "K": 1}


def gaussian_likelihood_numpy(
    X: po.f32["N,D"], means: po.f32["K,D"], variances: po.f32["K,D"], weights: po.f32["K"]
):
    diff = X[:, None, :] - means[None, :, :]
    quad = np.sum(diff**2 / variances, axis=-1)
    logdet = np.sum(np.log(variances), axis=-1)
    D = X.shape[1]
    log_prob = -0.5 * (quad + logdet + D * np.log(2 * np.pi).astype(X.dtype)) + np.log(weights)
    top = log_prob.max(axis=1)
    total = np.log(np.sum(np.exp(log_prob - top[:, None]), axis=1)) + top
    return log_prob, total.mean()


def make(N, K, D, dtype):
    return {
        "X": normal(1, (N, D), dtype),
        "means": normal(2, (K, D), dtype),
        "variances": positive(3, (K, D), dtype),
        "weights": positive(4, (K,), dtype),
    }


def randomize(arguments, rng):
    for name in ("X", "means"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(N, K, D):
    return N * K * (4 * D + 8)


def chain(N, K, D):
    return 4 * (N + D) + 40
