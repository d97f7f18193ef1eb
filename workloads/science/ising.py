"""ising: checkerboard sweeps of a spin lattice with given random numbers."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 8, "STEPS": 2},
    "SMALL": {"N": 20, "STEPS": 4},
    "MEDIUM": {"N": 60, "STEPS": 8},
    "LARGE": {"N": 400, "STEPS": 20},
    "EXTRALARGE": {"N": 1000, "STEPS": 20},
}
OUTPUTS = ("spins", "return")
EXACT = False
STEPS = "STEPS"
DTYPE = np.float64


def ising(spins: po.i64["N,N"], random: po.f64["T,N,N"], beta: po.f64):
    N = spins.shape[0]
    for t in range(random.shape[0]):
        for color in range(2):
            for i in range(N):
                for j in range(N):
                    if (i + j) % 2 == color:
                        s = spins[i, j]
                        near = spins[(i + 1) % N, j] + spins[(i - 1) % N, j]
                        near += spins[i, (j + 1) % N] + spins[i, (j - 1) % N]
                        if random[t, i, j] < math.exp(-2.0 * beta * s * near):
                            spins[i, j] = -s
    total = 0
    for i in range(N):
        for j in range(N):
            total += spins[i, j]
    return total


def make(N, STEPS, dtype):
    return {
        "spins": 2 * integers(1, 2, (N, N)) - 1,
        "random": np.random.default_rng(2).uniform(0, 1, (STEPS, N, N)).astype(dtype),
        "beta": 0.4,
    }


def randomize(arguments, rng):
    arguments["spins"][...] = 2 * rng.integers(0, 2, arguments["spins"].shape) - 1
    arguments["random"][...] = rng.uniform(0, 1, arguments["random"].shape)
