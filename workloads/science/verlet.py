"""verlet: molecular dynamics of Lennard-Jones particles in a periodic box, with a cutoff."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 8, "STEPS": 2},
    "SMALL": {"N": 20, "STEPS": 4},
    "MEDIUM": {"N": 60, "STEPS": 6},
    "LARGE": {"N": 300, "STEPS": 10},
    "EXTRALARGE": {"N": 1000, "STEPS": 10},
}
OUTPUTS = ("pos", "vel", "return")
STEPS = "STEPS"


def verlet(
    pos: po.f64["N,3"], vel: po.f64["N,3"], box: po.f64, cutoff: po.f64, dt: po.f64, steps: int
):
    N = pos.shape[0]
    force = np.zeros((N, 3))
    energy = 0.0
    for _ in range(steps):
        energy = 0.0
        force[:, :] = 0.0
        for i in range(N - 1):
            for j in range(i + 1, N):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                dz = pos[i, 2] - pos[j, 2]
                dx -= box * np.rint(dx / box)
                dy -= box * np.rint(dy / box)
                dz -= box * np.rint(dz / box)
                r2 = dx * dx + dy * dy + dz * dz
                if r2 < cutoff * cutoff:
                    s2 = 1.0 / (r2 + 0.1)
                    s6 = s2 * s2 * s2
                    energy += 4.0 * (s6 * s6 - s6)
                    f = 24.0 * s2 * (2.0 * s6 * s6 - s6)
                    force[i, 0] += f * dx
                    force[i, 1] += f * dy
                    force[i, 2] += f * dz
                    force[j, 0] -= f * dx
                    force[j, 1] -= f * dy
                    force[j, 2] -= f * dz
        for i in range(N):
            for c in range(3):
                vel[i, c] += dt * force[i, c]
                pos[i, c] = (pos[i, c] + dt * vel[i, c]) % box
    return energy


def make(N, STEPS, dtype):
    return {
        "pos": 4 * positive(1, (N, 3), dtype),
        "vel": normal(2, (N, 3), dtype, 0.1),
        "box": 6.0,
        "cutoff": 2.5,
        "dt": 0.001,
        "steps": STEPS,
    }
