"""burgers: two velocities carry and diffuse each other on a square."""

from __future__ import annotations

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 10, "STEPS": 4},
    "SMALL": {"N": 30, "STEPS": 8},
    "MEDIUM": {"N": 100, "STEPS": 20},
    "LARGE": {"N": 400, "STEPS": 50},
    "EXTRALARGE": {"N": 1500, "STEPS": 100},
}
OUTPUTS = ("u", "v")
STEPS = "STEPS"


def burgers_numpy(
    u: po.f64["N,N"], v: po.f64["N,N"], dt: po.f64, dx: po.f64, dy: po.f64, nu: po.f64, steps: int
):
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - dt / dx * un[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - dt / dy * vn[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - dt / dx * un[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - dt / dy * vn[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = u[-1, :] = 1
        u[:, 0] = u[:, -1] = 1
        v[0, :] = v[-1, :] = 1
        v[:, 0] = v[:, -1] = 1


def make(N, STEPS, dtype):
    return {
        "u": positive(1, (N, N), dtype),
        "v": positive(2, (N, N), dtype),
        "dt": 0.001,
        "dx": 0.1,
        "dy": 0.1,
        "nu": 0.01,
        "steps": STEPS,
    }


LEAST = {"N": 1}


def chain(N, STEPS):
    return 100 * STEPS
