"""floyd-warshall: path becomes the lengths of the shortest paths between all pairs of nodes."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 60},
    "SMALL": {"N": 180},
    "MEDIUM": {"N": 500},
    "LARGE": {"N": 2800},
    "EXTRALARGE": {"N": 5600},
}
OUTPUTS = ("path",)
DTYPE = np.int32
WHOLE_REFERENCE = False


def floyd_warshall(path: po.i32["N,N"]):
    N = path.shape[0]
    for k in range(N):
        for i in range(N):
            for j in range(N):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def floyd_warshall_numpy(path: po.i32["N,N"]):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, None] + path[k])


def make(N, dtype):
    i, j = np.ogrid[:N, :N]
    far = ((i + j) % 13 == 0) | ((i + j) % 7 == 0) | ((i + j) % 11 == 0)
    return {"path": np.where(far, 999, i * j % 7 + 1).astype(dtype)}


def reference(path):
    path = path.copy()
    through = np.empty_like(path)
    for k in range(len(path)):
        np.add.outer(path[:, k], path[k], out=through)
        np.minimum(path, through, out=path)
    return {"path": path}


def flops(N):
    return 2 * N**3


def chain(N):
    return N
