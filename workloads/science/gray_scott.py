"""gray-scott: two substances react and diffuse on a torus."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 10, "STEPS": 4},
    "SMALL": {"N": 30, "STEPS": 8},
    "MEDIUM": {"N": 100, "STEPS": 20},
    "LARGE": {"N": 400, "STEPS": 50},
    "EXTRALARGE": {"N": 1000, "STEPS": 100},
}
OUTPUTS = ("u", "v")
STEPS = "STEPS"


def laplacian(Z):
    return np.roll(Z, 1, 0) + np.roll(Z, -1, 0) + np.roll(Z, 1, 1) + np.roll(Z, -1, 1) - 4 * Z


def gray_scott_numpy(
    u: po.f64["N,N"], v: po.f64["N,N"], du: po.f64, dv: po.f64, f: po.f64, k: po.f64, steps: int
):
    for _ in range(steps):
        uvv = u * v * v
        Lu, Lv = laplacian(u), laplacian(v)
        u += du * Lu - uvv + f * (1 - u)
        v += dv * Lv + uvv - (f + k) * v


def make(N, STEPS, dtype):
    return {
        "u": positive(1, (N, N), dtype) / 2,
        "v": positive(2, (N, N), dtype) / 4,
        "du": 0.16,
        "dv": 0.08,
        "f": 0.06,
        "k": 0.062,
        "steps": STEPS,
    }


def chain(N, STEPS):
    return 100 * STEPS
