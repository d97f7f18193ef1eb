"""Points and samples: forces with a cutoff, fuzzy clusters, moments."""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def lennard_jones(pos, force, cutoff):
    N = pos.shape[0]
    for i in range(N):
        fx = 0.0
        fy = 0.0
        fz = 0.0
        for j in range(N):
            dx = pos[i, 0] - pos[j, 0]
            dy = pos[i, 1] - pos[j, 1]
            dz = pos[i, 2] - pos[j, 2]
            r2 = dx * dx + dy * dy + dz * dz
            if i != j and r2 < cutoff:
                s = 1.0 / r2
                s3 = s * s * s
                f = s3 * (s3 - 0.5) * s
                fx += f * dx
                fy += f * dy
                fz += f * dz
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz


def lennard_jones_data(rng, N):
    side = int(np.ceil(N ** (1 / 3)))
    cells = np.indices((side, side, side)).reshape(3, -1).T[:N]
    return {
        "pos": cells + rng.uniform(-0.2, 0.2, (N, 3)),
        "force": np.zeros((N, 3)),
        "cutoff": 6.25,
    }


def fuzzy_clusters(points, centres, membership):
    difference = points[:, None, :] - centres[None, :, :]
    weight = 1.0 / (np.sum(difference**2, axis=2) + 1e-6)
    membership[:] = weight / weight.sum(axis=1, keepdims=True)


def fuzzy_clusters_data(rng, N, K, D):
    return {
        "points": rng.random((N, D)),
        "centres": rng.random((K, D)),
        "membership": np.zeros((N, K)),
    }


def moments(X, row_mean, row_var, col_mean, col_var, col_skew):
    row_mean[:] = X.mean(axis=1)
    row_var[:] = X.var(axis=1)
    col_mean[:] = X.mean(axis=0)
    centred = X - col_mean
    col_var[:] = (centred**2).mean(axis=0)
    col_skew[:] = (centred**3).mean(axis=0) / col_var**1.5


def moments_data(rng, N, M):
    return {
        "X": rng.random((N, M)) ** 2,
        "row_mean": np.zeros(N),
        "row_var": np.zeros(N),
        "col_mean": np.zeros(M),
        "col_var": np.zeros(M),
        "col_skew": np.zeros(M),
    }


PROGRAMS = (
    Program(lennard_jones, lennard_jones_data, {"N": 4001}, {"N": 11}, ("force",)),
    Program(
        fuzzy_clusters,
        fuzzy_clusters_data,
        {"N": 200003, "K": 19, "D": 7},
        {"N": 9, "K": 3, "D": 4},
        ("membership",),
        True,
    ),
    Program(
        moments,
        moments_data,
        {"N": 4001, "M": 2503},
        {"N": 7, "M": 9},
        ("row_mean", "row_var", "col_mean", "col_var", "col_skew"),
        True,
    ),
)
