"""sph-density: smoothed densities of particles with a cubic spline, and pressure forces."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 8},
    "SMALL": {"N": 30},
    "MEDIUM": {"N": 100},
    "LARGE": {"N": 800},
    "EXTRALARGE": {"N": 3000},
}
OUTPUTS = ("return[0]", "return[1]")


def kernel_weight(r, h):
    q = r / h
    w = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, np.where(q < 2, 0.25 * (2 - q) ** 3, 0.0))
    return w / (np.pi * h**3)


def sph_density_numpy(pos: po.f64["N,3"], mass: po.f64["N"], h: po.f64, k: po.f64):
    d = pos[:, None, :] - pos[None, :, :]
    r = np.sqrt((d**2).sum(axis=-1))
    rho = (mass * kernel_weight(r, h)).sum(axis=1)
    pressure = k * rho ** (5 / 3)
    strength = mass * (pressure[:, None] / rho[:, None] ** 2 + pressure / rho**2)
    force = -(strength[..., None] * d * np.exp(-((r / h) ** 2))[:, :, None]).sum(axis=1)
    return rho, force


def make(N, dtype):
    return {"pos": normal(1, (N, 3), dtype), "mass": positive(2, N, dtype), "h": 0.7, "k": 0.1}


def randomize(arguments, rng):
    arguments["pos"][...] = rng.uniform(-1, 1, arguments["pos"].shape)


def chain(N):
    return 100 * (N + 8)
