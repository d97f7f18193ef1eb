"""Time steps on grids: advection, diffusion, waves, shallow water, gas, lattice Boltzmann."""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def upwind(c, u, v, dt, steps):
    for _ in range(steps):
        left = c[1:-1, 1:-1] - c[1:-1, :-2]
        right = c[1:-1, 2:] - c[1:-1, 1:-1]
        below = c[1:-1, 1:-1] - c[:-2, 1:-1]
        above = c[2:, 1:-1] - c[1:-1, 1:-1]
        fx = np.maximum(u, 0.0) * left + np.minimum(u, 0.0) * right
        fy = np.maximum(v, 0.0) * below + np.minimum(v, 0.0) * above
        c[1:-1, 1:-1] -= dt * (fx + fy)


def upwind_data(rng, N, M, steps):
    shape = (N - 2, M - 2)
    return {
        "c": rng.random((N, M)),
        "u": rng.uniform(-1, 1, shape),
        "v": rng.uniform(-1, 1, shape),
        "dt": 0.2,
        "steps": steps,
    }


def diffusion_3d(a, b, k, steps):
    N, M, L = a.shape
    for _ in range(steps):
        for x in range(1, N - 1):
            for y in range(1, M - 1):
                for z in range(1, L - 1):
                    b[x, y, z] = a[x, y, z] + 0.1 * (
                        (k[x + 1, y, z] + k[x, y, z]) * (a[x + 1, y, z] - a[x, y, z])
                        - (k[x - 1, y, z] + k[x, y, z]) * (a[x, y, z] - a[x - 1, y, z])
                        + (k[x, y + 1, z] + k[x, y, z]) * (a[x, y + 1, z] - a[x, y, z])
                        - (k[x, y - 1, z] + k[x, y, z]) * (a[x, y, z] - a[x, y - 1, z])
                        + (k[x, y, z + 1] + k[x, y, z]) * (a[x, y, z + 1] - a[x, y, z])
                        - (k[x, y, z - 1] + k[x, y, z]) * (a[x, y, z] - a[x, y, z - 1])
                    )
        for x in range(1, N - 1):
            for y in range(1, M - 1):
                for z in range(1, L - 1):
                    a[x, y, z] = b[x, y, z]


def diffusion_3d_data(rng, N, M, L, steps):
    shape = (N, M, L)
    return {
        "a": rng.random(shape),
        "b": np.zeros(shape),
        "k": rng.uniform(0.1, 0.5, shape),
        "steps": steps,
    }


def wave_fourth_order(prev, cur, speed, steps):
    for _ in range(steps):
        inner = cur[2:-2, 2:-2]
        lap = 16 * (cur[1:-3, 2:-2] + cur[3:-1, 2:-2] + cur[2:-2, 1:-3] + cur[2:-2, 3:-1])
        lap -= cur[:-4, 2:-2] + cur[4:, 2:-2] + cur[2:-2, :-4] + cur[2:-2, 4:] + 60 * inner
        prev[2:-2, 2:-2] = 2 * inner - prev[2:-2, 2:-2] + speed * lap
        prev, cur = cur, prev


def wave_fourth_order_data(rng, N, M, steps):
    return {
        "prev": rng.random((N, M)),
        "cur": rng.random((N, M)),
        "speed": rng.uniform(0.005, 0.02, (N - 4, M - 4)),
        "steps": steps,
    }


def lax(q, f, g, c):
    mean = 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])
    return mean - c * (f[2:, 1:-1] - f[:-2, 1:-1] + g[1:-1, 2:] - g[1:-1, :-2])


def shallow_water(h, hu, hv, c, steps):
    for _ in range(steps):
        u = hu / h
        v = hv / h
        p = 4.905 * h * h
        h_new = lax(h, hu, hv, c)
        hu_new = lax(hu, hu * u + p, hu * v, c)
        hv_new = lax(hv, hv * u, hv * v + p, c)
        h[1:-1, 1:-1] = h_new
        hu[1:-1, 1:-1] = hu_new
        hv[1:-1, 1:-1] = hv_new


def shallow_water_data(rng, N, M, steps):
    return {
        "h": rng.uniform(1.0, 1.1, (N, M)),
        "hu": rng.uniform(-0.1, 0.1, (N, M)),
        "hv": rng.uniform(-0.1, 0.1, (N, M)),
        "c": 0.05,
        "steps": steps,
    }


def euler_1d(rho, mom, ene, fr, fm, fe, c, steps):
    N = rho.shape[0]
    for _ in range(steps):
        for i in range(N - 1):
            ul = mom[i] / rho[i]
            ur = mom[i + 1] / rho[i + 1]
            pl = 0.4 * (ene[i] - 0.5 * mom[i] * ul)
            pr = 0.4 * (ene[i + 1] - 0.5 * mom[i + 1] * ur)
            speed = max(
                abs(ul) + np.sqrt(1.4 * pl / rho[i]), abs(ur) + np.sqrt(1.4 * pr / rho[i + 1])
            )
            fr[i] = 0.5 * (mom[i] + mom[i + 1] - speed * (rho[i + 1] - rho[i]))
            fm[i] = 0.5 * (mom[i] * ul + pl + mom[i + 1] * ur + pr - speed * (mom[i + 1] - mom[i]))
            fe[i] = 0.5 * (
                ul * (ene[i] + pl) + ur * (ene[i + 1] + pr) - speed * (ene[i + 1] - ene[i])
            )
        for i in range(1, N - 1):
            rho[i] -= c * (fr[i] - fr[i - 1])
            mom[i] -= c * (fm[i] - fm[i - 1])
            ene[i] -= c * (fe[i] - fe[i - 1])


def euler_1d_data(rng, N, steps):
    return {
        "rho": rng.uniform(0.9, 1.1, N),
        "mom": rng.uniform(-0.1, 0.1, N),
        "ene": rng.uniform(2.4, 2.6, N),
        "fr": np.zeros(N - 1),
        "fm": np.zeros(N - 1),
        "fe": np.zeros(N - 1),
        "c": 0.1,
        "steps": steps,
    }


def lattice_d2q5(f, g, temperature, omega, steps):
    N, M = temperature.shape
    for _ in range(steps):
        for i in range(1, N - 1):
            for j in range(1, M - 1):
                f0 = f[0, i, j]
                f1 = f[1, i - 1, j]
                f2 = f[2, i + 1, j]
                f3 = f[3, i, j - 1]
                f4 = f[4, i, j + 1]
                t = f0 + f1 + f2 + f3 + f4
                temperature[i, j] = t
                g[0, i, j] = f0 - omega * (f0 - t / 3.0)
                g[1, i, j] = f1 - omega * (f1 - t / 6.0)
                g[2, i, j] = f2 - omega * (f2 - t / 6.0)
                g[3, i, j] = f3 - omega * (f3 - t / 6.0)
                g[4, i, j] = f4 - omega * (f4 - t / 6.0)
        for q in range(5):
            for i in range(1, N - 1):
                for j in range(1, M - 1):
                    f[q, i, j] = g[q, i, j]


def lattice_d2q5_data(rng, N, M, steps):
    return {
        "f": rng.uniform(0.1, 0.3, (5, N, M)),
        "g": np.zeros((5, N, M)),
        "temperature": np.zeros((N, M)),
        "omega": 1.2,
        "steps": steps,
    }


PROGRAMS = (
    Program(
        upwind,
        upwind_data,
        {"N": 1103, "M": 997, "steps": 10},
        {"N": 9, "M": 8, "steps": 3},
        ("c",),
        True,
    ),
    Program(
        diffusion_3d,
        diffusion_3d_data,
        {"N": 107, "M": 113, "L": 131, "steps": 10},
        {"N": 5, "M": 6, "L": 7, "steps": 3},
        ("a", "b"),
    ),
    Program(
        wave_fourth_order,
        wave_fourth_order_data,
        {"N": 907, "M": 1103, "steps": 14},
        {"N": 9, "M": 8, "steps": 4},
        ("prev", "cur"),
        True,
    ),
    Program(
        shallow_water,
        shallow_water_data,
        {"N": 611, "M": 719, "steps": 11},
        {"N": 8, "M": 9, "steps": 3},
        ("h", "hu", "hv"),
        True,
    ),
    Program(
        euler_1d,
        euler_1d_data,
        {"N": 20011, "steps": 150},
        {"N": 17, "steps": 3},
        ("rho", "mom", "ene"),
    ),
    Program(
        lattice_d2q5,
        lattice_d2q5_data,
        {"N": 401, "M": 509, "steps": 20},
        {"N": 7, "M": 9, "steps": 3},
        ("f", "temperature"),
    ),
)
