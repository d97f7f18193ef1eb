"""xorshift: streams of random numbers, 64 bits each, scaled to the unit interval."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"STREAMS": 4, "N": 10},
    "SMALL": {"STREAMS": 16, "N": 50},
    "MEDIUM": {"STREAMS": 100, "N": 100},
    "LARGE": {"STREAMS": 4096, "N": 500},
    "EXTRALARGE": {"STREAMS": 16384, "N": 1000},
}
OUTPUTS = ("state", "return")
DTYPE = np.uint64


def xorshift_numpy(state: po.u64["S"], n: int):
    out = np.empty((n, state.size))
    for i in range(n):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        out[i] = (state >> np.uint64(11)) * 2.0**-53
    return out


def make(STREAMS, N, dtype):
    return {"state": (integers(1, 2**30, STREAMS) + 1).astype(dtype), "n": N}


def randomize(arguments, rng):
    arguments["state"][:] = rng.integers(1, 2**62, arguments["state"].shape)
