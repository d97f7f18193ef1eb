"""nbody: particles under softened gravity, kick-drift-kick steps, energies after each step."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 10, "STEPS": 4},
    "SMALL": {"N": 25, "STEPS": 6},
    "MEDIUM": {"N": 60, "STEPS": 8},
    "LARGE": {"N": 250, "STEPS": 10},
    "EXTRALARGE": {"N": 600, "STEPS": 20},
}
OUTPUTS = ("return[0]", "return[1]", "pos", "vel")
STEPS = "STEPS"


def nbody(
    mass: po.f64["N"],
    pos: po.f64["N,3"],
    vel: po.f64["N,3"],
    steps: int,
    dt: po.f64,
    G: po.f64,
    softening: po.f64,
):
    N = mass.shape[0]
    acc = np.zeros((N, 3))
    kinetic = np.zeros(steps)
    potential = np.zeros(steps)
    for t in range(steps):
        for i in range(N):
            for c in range(3):
                acc[i, c] = 0.0
            for j in range(N):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + softening * softening
                w = G * mass[j] / (r2 * math.sqrt(r2))
                acc[i, 0] += w * dx
                acc[i, 1] += w * dy
                acc[i, 2] += w * dz
        for i in range(N):
            for c in range(3):
                vel[i, c] += dt * acc[i, c]
                pos[i, c] += dt * vel[i, c]
        for i in range(N):
            kinetic[t] += 0.5 * mass[i] * (vel[i, 0] ** 2 + vel[i, 1] ** 2 + vel[i, 2] ** 2)
            for j in range(i + 1, N):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                potential[t] -= G * mass[i] * mass[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
    return kinetic, potential


def separations(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def accelerations(mass, pos, G, softening):
    dx, dy, dz = separations(pos)
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.stack((ax, ay, az), axis=1)


def energies(mass, pos, vel, G):
    kinetic = 0.5 * np.sum(mass[:, np.newaxis] * vel**2)
    dx, dy, dz = separations(pos)
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    potential = G * np.sum(np.triu(-(mass[:, None] * mass) * inv_r, 1))
    return kinetic, potential


def nbody_numpy(
    mass: po.f64["N"],
    pos: po.f64["N,3"],
    vel: po.f64["N,3"],
    steps: int,
    dt: po.f64,
    G: po.f64,
    softening: po.f64,
):
    kinetic = np.empty(steps)
    potential = np.empty(steps)
    for t in range(steps):
        vel += dt * accelerations(mass, pos, G, softening)
        pos += dt * vel
        kinetic[t], potential[t] = energies(mass, pos, vel, G)
    return kinetic, potential


def make(N, STEPS, dtype):
    return {
        "mass": positive(1, N, dtype),
        "pos": normal(2, (N, 3), dtype),
        "vel": normal(3, (N, 3), dtype, 0.1),
        "steps": STEPS,
        "dt": 0.01,
        "G": 1.0,
        "softening": 0.1,
    }


def chain(N, STEPS):
    return 200 * STEPS * (N + 8)
