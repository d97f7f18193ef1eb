"""shortest-paths: all distances of a graph and the next node on the way."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 8},
    "SMALL": {"N": 30},
    "MEDIUM": {"N": 80},
    "LARGE": {"N": 300},
    "EXTRALARGE": {"N": 1000},
}
OUTPUTS = ("distance", "following")
DTYPE = np.int64


def shortest_paths(distance: po.i64["N,N"], following: po.i64["N,N"]):
    N = distance.shape[0]
    for i in range(N):
        for j in range(N):
            following[i, j] = j
    for k in range(N):
        for i in range(N):
            for j in range(N):
                through = distance[i, k] + distance[k, j]
                if through < distance[i, j]:
                    distance[i, j] = through
                    following[i, j] = following[i, k]


def shortest_paths_numpy(distance: po.i64["N,N"], following: po.i64["N,N"]):
    N = distance.shape[0]
    following[:] = np.arange(N)
    for k in range(N):
        through = distance[:, k, None] + distance[k]
        shorter = through < distance
        distance[:] = np.where(shorter, through, distance)
        following[:] = np.where(shorter, following[:, k, None], following)


def make(N, dtype):
    return {
        "distance": integers(1, 1000, (N, N)).astype(dtype),
        "following": np.zeros((N, N), np.int64),
    }


def randomize(arguments, rng):
    arguments["distance"][...] = rng.integers(1, 1000, arguments["distance"].shape)
