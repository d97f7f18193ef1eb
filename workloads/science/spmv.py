"""spmv: y = A x with A in compressed rows."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"N": 10, "WIDTH": 3},
    "SMALL": {"N": 100, "WIDTH": 5},
    "MEDIUM": {"N": 1000, "WIDTH": 10},
    "LARGE": {"N": 20000, "WIDTH": 20},
    "EXTRALARGE": {"N": 100000, "WIDTH": 30},
}
OUTPUTS = ("y",)


def spmv(
    start: po.i64["N+1"], column: po.i64["Z"], value: po.f64["Z"], x: po.f64["N"], y: po.f64["N"]
):
    for i in range(len(y)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def spmv_numpy(
    start: po.i64["N+1"], column: po.i64["Z"], value: po.f64["Z"], x: po.f64["N"], y: po.f64["N"]
):
    for i in range(y.size):
        row = slice(start[i], start[i + 1])
        y[i] = value[row] @ x[column[row]]


def make(N, WIDTH, dtype):
    counts = integers(1, WIDTH + 1, N)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return {
        "start": start,
        "column": integers(2, N, int(start[-1])),
        "value": normal(3, int(start[-1]), dtype),
        "x": normal(4, N, dtype),
        "y": np.zeros(N, dtype),
    }


def randomize(arguments, rng):
    for name in ("value", "x"):
        arguments[name][...] = rng.uniform(-1.0, 1.0, arguments[name].shape)


def chain(N, WIDTH):
    return WIDTH
