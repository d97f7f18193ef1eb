"""cavity-flow: a lid-driven cavity by finite differences, pressure by Jacobi sweeps."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"NX": 9, "NY": 9, "STEPS": 2, "SWEEPS": 4},
    "SMALL": {"NX": 21, "NY": 21, "STEPS": 5, "SWEEPS": 10},
    "MEDIUM": {"NX": 41, "NY": 41, "STEPS": 10, "SWEEPS": 20},
    "LARGE": {"NX": 101, "NY": 101, "STEPS": 50, "SWEEPS": 50},
    "EXTRALARGE": {"NX": 201, "NY": 201, "STEPS": 100, "SWEEPS": 50},
}
OUTPUTS = ("u", "v", "p")
STEPS = "STEPS"
LEAST = {"NX": 2, "NY": 2}


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1
        / dt
        * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(sweeps, p, dx, dy, b):
    pn = np.empty_like(p)
    pn = p.copy()
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity_flow_numpy(
    steps: int,
    sweeps: int,
    u: po.f64["NY,NX"],
    v: po.f64["NY,NX"],
    p: po.f64["NY,NX"],
    dt: po.f64,
    dx: po.f64,
    dy: po.f64,
    rho: po.f64,
    nu: po.f64,
):
    un = np.empty_like(u)
    vn = np.empty_like(v)
    b = np.zeros(u.shape)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(sweeps, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def make(NX, NY, STEPS, SWEEPS, dtype):
    return {
        "steps": STEPS,
        "sweeps": SWEEPS,
        "u": np.zeros((NY, NX), dtype),
        "v": np.zeros((NY, NX), dtype),
        "p": np.zeros((NY, NX), dtype),
        "dt": 0.1 / (NX * NY),
        "dx": 2.0 / (NX - 1),
        "dy": 2.0 / (NY - 1),
        "rho": 1.0,
        "nu": 0.1,
    }


def randomize(arguments, rng):
    for name in ("u", "v", "p"):
        arguments[name][...] = rng.uniform(-0.1, 0.1, arguments[name].shape)


def chain(NX, NY, STEPS, SWEEPS):
    return 1000 * STEPS * (40 + SWEEPS)
