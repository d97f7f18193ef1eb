"""viterbi: the most probable path of hidden states."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"T": 8, "S": 4},
    "SMALL": {"T": 30, "S": 8},
    "MEDIUM": {"T": 100, "S": 20},
    "LARGE": {"T": 500, "S": 60},
    "EXTRALARGE": {"T": 2000, "S": 100},
}
OUTPUTS = ("return[0]", "return[1]")
LEAST = {"T": 1, "S": 1}


def viterbi_numpy(start: po.f64["S"], move: po.f64["S,S"], emit: po.f64["T,S"]):
    T, S = emit.shape
    back = np.zeros((T, S), dtype=np.int64)
    score = start + emit[0]
    for t in range(1, T):
        options = score[:, None] + move
        back[t] = np.argmax(options, axis=0)
        score = np.max(options, axis=0) + emit[t]
    path = np.zeros(T, dtype=np.int64)
    path[T - 1] = np.argmax(score)
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, np.max(score)


def make(T, S, dtype):
    return {
        "start": normal(1, S, dtype),
        "move": normal(2, (S, S), dtype),
        "emit": normal(3, (T, S), dtype),
    }
