"""Programs in the style of Devito's tutorials: seismic modelling and computational fluid dynamics.

An equation `Eq(u.forward, ...)` is a statement over slices here, so it counts as a changed line;
`Grid`, `Function` and `Operator` have no counterpart.
"""

from __future__ import annotations

import numpy as np

from tests.ported.record import ported


@ported(
    lambda r: (r.random((21, 19)), 10, 1.0, 0.01, 0.1, 0.1),
    changed={
        "Eq(u.forward, solve(u.dt + c*u.dxl + c*u.dyl, u.forward), subdomain=grid.interior)": (
            "u[1:, 1:] = ("
        ),
        "Eq(u[t+1, 0, y], 1.)": "u[0, :] = 1.0",
    },
)
def linear_convection(u, nt, c, dt, dx, dy):
    for n in range(nt):
        un = u.copy()
        u[1:, 1:] = (
            un[1:, 1:]
            - (c * dt / dx * (un[1:, 1:] - un[:-1, 1:]))
            - (c * dt / dy * (un[1:, 1:] - un[1:, :-1]))
        )
        u[0, :] = 1.0
        u[-1, :] = 1.0
        u[:, 0] = 1.0
        u[:, -1] = 1.0
    return u


@ported(
    lambda r: (1 + r.random((21, 19)), 1 + r.random((21, 19)), 6, 0.001, 0.1, 0.1),
    changed={
        "Eq(u.forward, u - dt * (u*u.dxl + v*u.dyl))": "u[1:, 1:] = (",
        "Eq(v.forward, v - dt * (u*v.dxl + v*v.dyl))": "v[1:, 1:] = (",
    },
)
def nonlinear_convection(u, v, nt, dt, dx, dy):
    for n in range(nt + 1):
        un = u.copy()
        vn = v.copy()
        u[1:, 1:] = (
            un[1:, 1:]
            - (un[1:, 1:] * dt / dx * (un[1:, 1:] - un[:-1, 1:]))
            - vn[1:, 1:] * dt / dy * (un[1:, 1:] - un[1:, :-1])
        )
        v[1:, 1:] = (
            vn[1:, 1:]
            - (un[1:, 1:] * dt / dx * (vn[1:, 1:] - vn[:-1, 1:]))
            - vn[1:, 1:] * dt / dy * (vn[1:, 1:] - vn[1:, :-1])
        )


@ported(
    lambda r: (r.random((25, 22)), 12, 0.5, 0.0005, 0.1, 0.1),
    changed={"Eq(u.forward, solve(Eq(u.dt, a * u.laplace), u.forward))": "u[1:-1, 1:-1] = ("},
)
def diffusion(u, nt, a, dt, dx, dy):
    dx2, dy2 = dx**2, dy**2
    for n in range(nt + 1):
        un = u.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            + a * dt / dx2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
            + a * dt / dy2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
    return u


@ported(
    lambda r: (np.zeros((17, 23)), 0.1, 0.12, 1e-2),
    changed={"Eq(p, solve(Eq(pn.laplace, 0), pn))": "p[1:-1, 1:-1] = ("},
)
def laplace(p, dx, dy, l1norm_target):
    l1norm = 1.0
    p[:, -1] = np.linspace(0, 1, p.shape[0])
    while l1norm > l1norm_target:
        pn = p.copy()
        p[1:-1, 1:-1] = (
            dy**2 * (pn[1:-1, 2:] + pn[1:-1, 0:-2]) + dx**2 * (pn[2:, 1:-1] + pn[0:-2, 1:-1])
        ) / (2 * (dx**2 + dy**2))
        p[0, :] = p[1, :]
        p[-1, :] = p[-2, :]
        l1norm = np.sum(np.abs(p[:]) - np.abs(pn[:])) / np.sum(np.abs(pn[:]))
    return p


@ported(
    lambda r: (np.zeros((20, 24)), r.random((20, 24)), 30, 0.1, 0.1),
    changed={"Eq(p, solve(Eq(pd.laplace, b), pd))": "p[1:-1, 1:-1] = ("},
)
def poisson(p, b, nt, dx, dy):
    for it in range(nt):
        pd = p.copy()
        p[1:-1, 1:-1] = (
            (pd[1:-1, 2:] + pd[1:-1, :-2]) * dy**2
            + (pd[2:, 1:-1] + pd[:-2, 1:-1]) * dx**2
            - b[1:-1, 1:-1] * dx**2 * dy**2
        ) / (2 * (dx**2 + dy**2))
        p[0, :] = 0
        p[-1, :] = 0
        p[:, 0] = 0
        p[:, -1] = 0
    return p


def survey(r):
    nt, n = 14, 30
    return (
        np.zeros((3, n, n)),
        1.5 + r.random((n, n)),
        r.random(nt),
        (7, 9),
        r.integers(4, n - 4, (5, 2)),
        np.zeros((nt, 5)),
        0.1,
    )


@ported(
    survey,
    changed={
        "Eq(u.forward, solve(m * u.dt2 - u.laplace, u.forward))": (
            "u[after, 1:-1, 1:-1] = 2 * u[now, 1:-1, 1:-1] - u[before, 1:-1, 1:-1] + ("
        ),
        "src.inject(field=u.forward, expr=src * dt**2 / m)": (
            "u[after, at[0], at[1]] += src[t] * dt**2 / m[at[0], at[1]]"
        ),
    },
)
def acoustic(u, m, src, at, where, rec, dt):
    for t in range(src.shape[0]):
        before, now, after = (t + 2) % 3, t % 3, (t + 1) % 3
        u[after, 1:-1, 1:-1] = (
            2 * u[now, 1:-1, 1:-1]
            - u[before, 1:-1, 1:-1]
            + (
                dt**2
                / m[1:-1, 1:-1]
                * (
                    u[now, 2:, 1:-1]
                    + u[now, :-2, 1:-1]
                    + u[now, 1:-1, 2:]
                    + u[now, 1:-1, :-2]
                    - 4 * u[now, 1:-1, 1:-1]
                )
            )
        )
        u[after, at[0], at[1]] += src[t] * dt**2 / m[at[0], at[1]]
        rec[t, :] = u[after, where[:, 0], where[:, 1]]


@ported(
    lambda r: (r.random((5, 18, 18)), 0.1 * r.random((18, 18)), 0.1),
    changed={
        "Eq(u.forward, solve(u.dt2 - u.laplace + damp * u.dt, u.forward))": ("u[t + 1, i, j] = ("),
    },
)
def damped_wave(u, damp, dt):
    nt, n, _ = u.shape
    for t in range(1, nt - 1):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                lap = u[t, i - 1, j] + u[t, i + 1, j] + u[t, i, j - 1] + u[t, i, j + 1]
                u[t + 1, i, j] = (
                    2 * u[t, i, j]
                    - (1 - 0.5 * dt * damp[i, j]) * u[t - 1, i, j]
                    + dt**2 * (lap - 4 * u[t, i, j])
                ) / (1 + 0.5 * dt * damp[i, j])


def elastic_fields(r):
    return tuple(r.random((20, 17)) for _ in range(5)) + (1.2, 0.8, 0.05, 6)


@ported(
    elastic_fields,
    changed={
        "Eq(v.forward, v + dt * ro * div(tau))": "vx[1:-1, 1:-1] += dt * (",
        "Eq(tau.forward, tau + dt * (l * diag(div(v.forward)) + mu * (grad(v.forward) + grad(v.forward).T)))": (
            "txx[1:-1, 1:-1] += dt * ((l + 2 * mu) * dvx + l * dvz)"
        ),
    },
)
def elastic(vx, vz, txx, tzz, txz, l, mu, dt, nt):
    for t in range(nt):
        vx[1:-1, 1:-1] += dt * (
            (txx[1:-1, 1:-1] - txx[:-2, 1:-1]) + (txz[1:-1, 1:-1] - txz[1:-1, :-2])
        )
        vz[1:-1, 1:-1] += dt * (
            (txz[2:, 1:-1] - txz[1:-1, 1:-1]) + (tzz[1:-1, 2:] - tzz[1:-1, 1:-1])
        )
        dvx = vx[2:, 1:-1] - vx[1:-1, 1:-1]
        dvz = vz[1:-1, 1:-1] - vz[1:-1, :-2]
        txx[1:-1, 1:-1] += dt * ((l + 2 * mu) * dvx + l * dvz)
        tzz[1:-1, 1:-1] += dt * ((l + 2 * mu) * dvz + l * dvx)
        txz[1:-1, 1:-1] += (
            dt * mu * ((vx[1:-1, 2:] - vx[1:-1, 1:-1]) + (vz[1:-1, 1:-1] - vz[:-2, 1:-1]))
        )


@ported(
    lambda r: (r.random((2, 14, 13, 15)), 5, 0.1, np.array([-5 / 2, 4 / 3, -1 / 12])),
    changed={
        "Eq(u.forward, u + dt * u.laplace)": "u[1 - now, x, y, z] = u[now, x, y, z] + dt * lap"
    },
)
def heat_fourth_order(u, nt, dt, w):
    for t in range(nt):
        now = t % 2
        for x in range(2, u.shape[1] - 2):
            for y in range(2, u.shape[2] - 2):
                for z in range(2, u.shape[3] - 2):
                    lap = 3 * w[0] * u[now, x, y, z]
                    for k in range(1, 3):
                        lap += w[k] * (u[now, x - k, y, z] + u[now, x + k, y, z])
                        lap += w[k] * (u[now, x, y - k, z] + u[now, x, y + k, z])
                        lap += w[k] * (u[now, x, y, z - k] + u[now, x, y, z + k])
                    u[1 - now, x, y, z] = u[now, x, y, z] + dt * lap


@ported(
    lambda r: (r.random((20, 20)), r.random((20, 20)), r.random((20, 20)), 5, 0.01),
    changed={
        "Eq(eta.forward, eta - dt * (M.dxc + N.dyc))": "eta[1:-1, 1:-1] -= 0.5 * dt * (",
        "Eq(M.forward, M - dt * ((M**2 / D).dxc + (M * N / D).dyc + g * D * eta.forward.dxc))": (
            "M[1:-1, 1:-1] -= dt * ("
        ),
    },
)
def shallow_water(eta, M, N, nt, dt):
    g = 9.81
    for n in range(nt):
        eta[1:-1, 1:-1] -= 0.5 * dt * ((M[2:, 1:-1] - M[:-2, 1:-1]) + (N[1:-1, 2:] - N[1:-1, :-2]))
        D = eta + 50.0
        flux = M**2 / D
        cross = M * N / D
        M[1:-1, 1:-1] -= dt * (
            0.5 * (flux[2:, 1:-1] - flux[:-2, 1:-1])
            + 0.5 * (cross[1:-1, 2:] - cross[1:-1, :-2])
            + 0.5 * g * D[1:-1, 1:-1] * (eta[2:, 1:-1] - eta[:-2, 1:-1])
        )
        eta[0, :] = eta[1, :]
        eta[-1, :] = eta[-2, :]
