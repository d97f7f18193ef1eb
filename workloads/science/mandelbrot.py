"""mandelbrot: iterations until a point of the complex plane escapes."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 12, "STEPS": 10},
    "SMALL": {"N": 40, "STEPS": 20},
    "MEDIUM": {"N": 120, "STEPS": 40},
    "LARGE": {"N": 500, "STEPS": 80},
    "EXTRALARGE": {"N": 1000, "STEPS": 100},
}
OUTPUTS = ("return",)
STEPS = "STEPS"


def mandelbrot(x: po.f64["N"], y: po.f64["N"], steps: int):
    counts = np.zeros((len(y), len(x)), dtype=np.int64)
    for i in range(len(y)):
        for j in range(len(x)):
            a = 0.0
            b = 0.0
            n = 0
            while n < steps and a * a + b * b <= 4.0:
                a, b = a * a - b * b + x[j], 2.0 * a * b + y[i]
                n += 1
            counts[i, j] = n
    return counts


def mandelbrot_numpy(x: po.f64["N"], y: po.f64["N"], steps: int):
    C = x + y[:, None] * 1j
    counts = np.full(C.shape, steps, dtype=np.int64)
    Z = np.zeros_like(C)
    alive = np.ones(C.shape, dtype=bool)
    for n in range(steps):
        escaped = alive & (Z.real * Z.real + Z.imag * Z.imag > 4.0)
        counts[escaped] = n
        alive[escaped] = False
        Z[alive] = Z[alive] ** 2 + C[alive]
    return counts


def make(N, STEPS, dtype):
    return {
        "x": np.linspace(-2.25, 0.75, N).astype(dtype),
        "y": np.linspace(-1.25, 1.25, N).astype(dtype),
        "steps": STEPS,
    }
