"""lorenz: an ensemble of Lorenz systems integrated by Runge and Kutta's fourth-order method."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 4, "STEPS": 5},
    "SMALL": {"N": 20, "STEPS": 10},
    "MEDIUM": {"N": 100, "STEPS": 20},
    "LARGE": {"N": 10000, "STEPS": 50},
    "EXTRALARGE": {"N": 100000, "STEPS": 100},
}
OUTPUTS = ("state",)
STEPS = "STEPS"


def derivative(s, sigma, rho, beta):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def lorenz_numpy(
    state: po.f64["3,N"], dt: po.f64, sigma: po.f64, rho: po.f64, beta: po.f64, steps: int
):
    for _ in range(steps):
        k1 = derivative(state, sigma, rho, beta)
        k2 = derivative(state + 0.5 * dt * k1, sigma, rho, beta)
        k3 = derivative(state + 0.5 * dt * k2, sigma, rho, beta)
        k4 = derivative(state + dt * k3, sigma, rho, beta)
        state += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def make(N, STEPS, dtype):
    return {
        "state": normal(1, (3, N), dtype),
        "dt": 0.01,
        "sigma": 10.0,
        "rho": 28.0,
        "beta": 8.0 / 3.0,
        "steps": STEPS,
    }


def chain(N, STEPS):
    return 1000 * STEPS
