"""lattice-boltzmann: nine velocities stream and collide on a torus."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"M": 6, "N": 8, "STEPS": 2},
    "SMALL": {"M": 16, "N": 20, "STEPS": 4},
    "MEDIUM": {"M": 60, "N": 60, "STEPS": 8},
    "LARGE": {"M": 200, "N": 200, "STEPS": 20},
    "EXTRALARGE": {"M": 500, "N": 500, "STEPS": 20},
}
OUTPUTS = ("F",)
STEPS = "STEPS"


VELOCITIES = ((0, 0), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))


def lattice_boltzmann_numpy(F: po.f64["M,N,9"], omega: po.f64, steps: int):
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    for _ in range(steps):
        for i, (cx, cy) in enumerate(VELOCITIES):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i in range(9):
            cu = cxs[i] * ux + cys[i] * uy
            Feq[:, :, i] = rho * weights[i] * (1 + 3 * cu + 9 * cu**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        F += -omega * (F - Feq)


def make(M, N, STEPS, dtype):
    return {"F": 1 + 0.1 * positive(1, (M, N, 9), dtype), "omega": 1.2, "steps": STEPS}


def randomize(arguments, rng):
    arguments["F"][...] = 1 + 0.1 * rng.uniform(0, 1, arguments["F"].shape)


def chain(M, N, STEPS):
    return 1000 * STEPS
