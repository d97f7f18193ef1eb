"""popcount: ones in each word, by masks and by Kernighan's loop, and their parity."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 20},
    "SMALL": {"N": 200},
    "MEDIUM": {"N": 5000},
    "LARGE": {"N": 1000000},
    "EXTRALARGE": {"N": 4000000},
}
OUTPUTS = ("counts", "parity")
DTYPE = np.uint32


def popcount(x: po.u32["N"], counts: po.i64["N"], parity: po.i64["N"]):
    for i in range(len(x)):
        v = x[i]
        n = 0
        while v != 0:
            v = v & (v - np.uint32(1))
            n += 1
        counts[i] = n
        parity[i] = n & 1


def popcount_numpy(x: po.u32["N"], counts: po.i64["N"], parity: po.i64["N"]):
    v = x - ((x >> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F
    counts[:] = (v * 0x01010101) >> 24
    parity[:] = counts % 2


def make(N, dtype):
    x = integers(1, 2**32, N).astype(np.uint32)
    return {"x": x, "counts": np.zeros(N, np.int64), "parity": np.zeros(N, np.int64)}


def randomize(arguments, rng):
    arguments["x"][:] = rng.integers(0, 2**32, arguments["x"].shape)
