"""red-black: successive over-relaxation of Poisson's equation on the two colours of a board."""

from __future__ import annotations

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10, "STEPS": 4},
    "SMALL": {"N": 30, "STEPS": 8},
    "MEDIUM": {"N": 100, "STEPS": 20},
    "LARGE": {"N": 500, "STEPS": 50},
    "EXTRALARGE": {"N": 2000, "STEPS": 50},
}
OUTPUTS = ("u",)
STEPS = "STEPS"


def red_black(u: po.f64["N,N"], f: po.f64["N,N"], omega: po.f64, steps: int):
    N = u.shape[0]
    for _ in range(steps):
        for color in range(2):
            for i in range(1, N - 1):
                for j in range(1 + (i + color) % 2, N - 1, 2):
                    near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    u[i, j] = (1 - omega) * u[i, j] + omega * 0.25 * (near - f[i, j])


def red_black_numpy(u: po.f64["N,N"], f: po.f64["N,N"], omega: po.f64, steps: int):
    for _ in range(steps):
        for color in (0, 1):
            for row in (0, 1):
                i, j = 1 + row, 1 + (1 + row + color) % 2
                near = (
                    u[i - 1 : -2 : 2, j:-1:2]
                    + u[i + 1 :: 2, j:-1:2]
                    + u[i:-1:2, j - 1 : -2 : 2]
                    + u[i:-1:2, j + 1 :: 2]
                )
                u[i:-1:2, j:-1:2] *= 1 - omega
                u[i:-1:2, j:-1:2] += omega * 0.25 * (near - f[i:-1:2, j:-1:2])


def make(N, STEPS, dtype):
    return {
        "u": normal(1, (N, N), dtype),
        "f": normal(2, (N, N), dtype),
        "omega": 1.5,
        "steps": STEPS,
    }


def chain(N, STEPS):
    return 100 * STEPS
