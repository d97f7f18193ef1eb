"""histogram: how many values, and what weight, fall into each of equal bins."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 50, "BINS": 5},
    "SMALL": {"N": 500, "BINS": 10},
    "MEDIUM": {"N": 20000, "BINS": 64},
    "LARGE": {"N": 2000000, "BINS": 256},
    "EXTRALARGE": {"N": 8000000, "BINS": 256},
}
OUTPUTS = ("counts", "weights")
LEAST = {"BINS": 1}


def histogram(
    x: po.f64["N"],
    w: po.f64["N"],
    low: po.f64,
    high: po.f64,
    counts: po.i64["B"],
    weights: po.f64["B"],
):
    bins = len(counts)
    for i in range(len(x)):
        b = int((x[i] - low) / (high - low) * bins)
        if b >= 0 and b < bins:
            counts[b] += 1
            weights[b] += w[i]


def histogram_numpy(
    x: po.f64["N"],
    w: po.f64["N"],
    low: po.f64,
    high: po.f64,
    counts: po.i64["B"],
    weights: po.f64["B"],
):
    bins = len(counts)
    b = ((x - low) / (high - low) * bins).astype(np.int64)
    b = np.minimum(np.maximum(b, 0), bins - 1)
    np.add.at(counts, b, 1)
    np.add.at(weights, b, w)


def make(N, BINS, dtype):
    return {
        "x": np.random.default_rng(1).uniform(0.001, 0.999, N).astype(dtype),
        "w": positive(2, N, dtype),
        "low": 0.0,
        "high": 1.0,
        "counts": np.zeros(BINS, np.int64),
        "weights": np.zeros(BINS, dtype),
    }


def randomize(arguments, rng):
    arguments["x"][:] = rng.uniform(0.001, 0.999, arguments["x"].shape)
    arguments["w"][:] = rng.uniform(0.0, 1.0, arguments["w"].shape)
