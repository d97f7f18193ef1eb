"""Time steps on grids in loops for Numba."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange


def upwind(c, u, v, dt, steps):
    N, M = c.shape
    old = c.copy()
    for _ in range(steps):
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                a = u[i - 1, j - 1]
                b = v[i - 1, j - 1]
                here = old[i, j]
                fx = max(a, 0.0) * (here - old[i, j - 1]) + min(a, 0.0) * (old[i, j + 1] - here)
                fy = max(b, 0.0) * (here - old[i - 1, j]) + min(b, 0.0) * (old[i + 1, j] - here)
                c[i, j] = here - dt * (fx + fy)
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                old[i, j] = c[i, j]


def diffusion_3d(a, b, k, steps):
    N, M, L = a.shape
    for _ in range(steps):
        for x in prange(1, N - 1):
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
        for x in prange(1, N - 1):
            for y in range(1, M - 1):
                for z in range(1, L - 1):
                    a[x, y, z] = b[x, y, z]


def wave_fourth_order(prev, cur, speed, steps):
    N, M = cur.shape
    for _ in range(steps):
        for i in prange(2, N - 2):
            for j in range(2, M - 2):
                lap = 16 * (cur[i - 1, j] + cur[i + 1, j] + cur[i, j - 1] + cur[i, j + 1])
                lap -= cur[i - 2, j] + cur[i + 2, j] + cur[i, j - 2] + cur[i, j + 2]
                lap -= 60 * cur[i, j]
                prev[i, j] = 2 * cur[i, j] - prev[i, j] + speed[i - 2, j - 2] * lap
        prev, cur = cur, prev


def shallow_water(h, hu, hv, c, steps):
    N, M = h.shape
    f = np.empty((4, N, M), h.dtype)
    new = np.empty((3, N, M), h.dtype)
    for _ in range(steps):
        for i in prange(N):
            for j in range(M):
                u = hu[i, j] / h[i, j]
                v = hv[i, j] / h[i, j]
                p = 4.905 * h[i, j] * h[i, j]
                f[0, i, j] = hu[i, j] * u + p
                f[1, i, j] = hu[i, j] * v
                f[2, i, j] = hv[i, j] * u
                f[3, i, j] = hv[i, j] * v + p
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                new[0, i, j] = 0.25 * (
                    h[i + 1, j] + h[i - 1, j] + h[i, j + 1] + h[i, j - 1]
                ) - c * (hu[i + 1, j] - hu[i - 1, j] + hv[i, j + 1] - hv[i, j - 1])
                new[1, i, j] = 0.25 * (
                    hu[i + 1, j] + hu[i - 1, j] + hu[i, j + 1] + hu[i, j - 1]
                ) - c * (f[0, i + 1, j] - f[0, i - 1, j] + f[1, i, j + 1] - f[1, i, j - 1])
                new[2, i, j] = 0.25 * (
                    hv[i + 1, j] + hv[i - 1, j] + hv[i, j + 1] + hv[i, j - 1]
                ) - c * (f[2, i + 1, j] - f[2, i - 1, j] + f[3, i, j + 1] - f[3, i, j - 1])
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                h[i, j] = new[0, i, j]
                hu[i, j] = new[1, i, j]
                hv[i, j] = new[2, i, j]


def euler_1d(rho, mom, ene, fr, fm, fe, c, steps):
    N = rho.shape[0]
    for _ in range(steps):
        for i in prange(N - 1):
            ul = mom[i] / rho[i]
            ur = mom[i + 1] / rho[i + 1]
            pl = 0.4 * (ene[i] - 0.5 * mom[i] * ul)
            pr = 0.4 * (ene[i + 1] - 0.5 * mom[i + 1] * ur)
            speed = max(abs(ul) + sqrt(1.4 * pl / rho[i]), abs(ur) + sqrt(1.4 * pr / rho[i + 1]))
            fr[i] = 0.5 * (mom[i] + mom[i + 1] - speed * (rho[i + 1] - rho[i]))
            fm[i] = 0.5 * (mom[i] * ul + pl + mom[i + 1] * ur + pr - speed * (mom[i + 1] - mom[i]))
            fe[i] = 0.5 * (
                ul * (ene[i] + pl) + ur * (ene[i + 1] + pr) - speed * (ene[i + 1] - ene[i])
            )
        for i in prange(1, N - 1):
            rho[i] -= c * (fr[i] - fr[i - 1])
            mom[i] -= c * (fm[i] - fm[i - 1])
            ene[i] -= c * (fe[i] - fe[i - 1])


def lattice_d2q5(f, g, temperature, omega, steps):
    N, M = temperature.shape
    for _ in range(steps):
        for i in prange(1, N - 1):
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
        for i in prange(1, N - 1):
            for q in range(5):
                for j in range(1, M - 1):
                    f[q, i, j] = g[q, i, j]
