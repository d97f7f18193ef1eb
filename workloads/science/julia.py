"""julia: iterations until z*z + c escapes, for every starting point of a grid."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 12, "STEPS": 10},
    "SMALL": {"N": 40, "STEPS": 20},
    "MEDIUM": {"N": 120, "STEPS": 40},
    "LARGE": {"N": 600, "STEPS": 80},
    "EXTRALARGE": {"N": 1500, "STEPS": 100},
}
OUTPUTS = ("counts",)
STEPS = "STEPS"


def julia(
    x: po.f64["N"], y: po.f64["N"], cx: po.f64, cy: po.f64, counts: po.i64["N,N"], steps: int
):
    for i in range(len(y)):
        for j in range(len(x)):
            a, b = x[j], y[i]
            n = 0
            for _ in range(steps):
                if a * a + b * b > 4.0:
                    break
                a, b = a * a - b * b + cx, 2.0 * a * b + cy
                n += 1
            counts[i, j] = n


def julia_numpy(
    x: po.f64["N"], y: po.f64["N"], cx: po.f64, cy: po.f64, counts: po.i64["N,N"], steps: int
):
    a, b = np.meshgrid(x, y)
    counts[:] = 0
    for _ in range(steps):
        inside = a * a + b * b <= 4.0
        counts += inside
        a, b = np.where(inside, a * a - b * b + cx, a), np.where(inside, 2.0 * a * b + cy, b)


def make(N, STEPS, dtype):
    return {
        "x": np.linspace(-1.5, 1.5, N).astype(dtype),
        "y": np.linspace(-1.5, 1.5, N).astype(dtype),
        "cx": -0.8,
        "cy": 0.156,
        "counts": np.zeros((N, N), np.int64),
        "steps": STEPS,
    }
