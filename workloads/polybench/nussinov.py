"""nussinov: the largest number of matching pairs in every part of a folded RNA sequence."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 60},
    "SMALL": {"N": 180},
    "MEDIUM": {"N": 500},
    "LARGE": {"N": 2500},
    "EXTRALARGE": {"N": 5500},
}
OUTPUTS = ("table",)
DTYPE = np.int32
WHOLE_REFERENCE = False


def match(first, second):
    return 1 if first + second == 3 else 0


def nussinov(seq: po.i32["N"], table: po.i32["N,N"]):
    N = seq.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def nussinov_numpy(seq: po.i32["N"], table: po.i32["N,N"]):
    N = seq.shape[0]
    for i in range(N - 2, -1, -1):
        pairs = np.where(seq[i] + seq[i + 1 :] == 3, 1, 0)
        pairs[0] = 0
        table[i, i + 1 :] = np.maximum(table[i, i + 1 :], table[i + 1, i + 1 :])
        table[i, i + 1 :] = np.maximum(table[i, i + 1 :], table[i + 1, i:-1] + pairs)
        for j in range(i + 1, N):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if j + 1 < N:
                table[i, j + 1 :] = np.maximum(
                    table[i, j + 1 :], table[i, j] + table[j + 1, j + 1 :]
                )


def make(N, dtype):
    return {"seq": ((np.arange(N) + 1) % 4).astype(dtype), "table": np.zeros((N, N), dtype)}


def randomize(arguments, rng):
    seq, table = arguments["seq"], arguments["table"]
    seq[...] = rng.integers(0, 4, seq.shape)
    table[...] = rng.integers(-5, 6, table.shape)


def reference(seq, table):
    """Compute a diagonal at a time, and the splits of one element together."""
    table = table.copy()
    N = len(table)
    pairs = (seq[:, None] + seq == 3).astype(table.dtype)
    for i in range(N - 2, -1, -1):
        for j in range(i + 1, N):
            inner = table[i + 1, j - 1] + (pairs[i, j] if i < j - 1 else 0)
            best = max(table[i, j], table[i, j - 1], table[i + 1, j], inner)
            splits = table[i, i + 1 : j] + table[i + 2 : j + 1, j]
            table[i, j] = max(best, splits.max(initial=best))
    return {"table": table}


def chain(N):
    return N


def flops(N):
    """Count the additions and the maxima."""
    cells = N * (N - 1) // 2
    long = max(N - 1, 0) * max(N - 2, 0) // 2
    return 3 * cells + 2 * long + 2 * (N * (N - 1) * (N - 2) // 6)
