"""Points and samples in loops for Numba."""

from __future__ import annotations

import numpy as np
from numba import prange


def lennard_jones(pos, force, cutoff):
    N = pos.shape[0]
    for i in prange(N):
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


def fuzzy_clusters(points, centres, membership):
    N, D = points.shape
    K = centres.shape[0]
    for n in prange(N):
        total = 0.0
        for k in range(K):
            distance = 0.0
            for d in range(D):
                difference = points[n, d] - centres[k, d]
                distance += difference * difference
            weight = 1.0 / (distance + 1e-6)
            membership[n, k] = weight
            total += weight
        for k in range(K):
            membership[n, k] /= total


def moments(X, row_mean, row_var, col_mean, col_var, col_skew):
    N, M = X.shape
    for i in prange(N):
        total = 0.0
        for j in range(M):
            total += X[i, j]
        mean = total / M
        spread = 0.0
        for j in range(M):
            spread += (X[i, j] - mean) ** 2
        row_mean[i] = mean
        row_var[i] = spread / M
    for block in prange((M + 127) // 128):
        start = 128 * block
        end = min(start + 128, M)
        first = np.zeros(128, X.dtype)
        for i in range(N):
            for j in range(start, end):
                first[j - start] += X[i, j]
        second = np.zeros(128, X.dtype)
        third = np.zeros(128, X.dtype)
        for i in range(N):
            for j in range(start, end):
                d = X[i, j] - first[j - start] / N
                second[j - start] += d * d
                third[j - start] += d * d * d
        for j in range(start, end):
            col_mean[j] = first[j - start] / N
            var = second[j - start] / N
            col_var[j] = var
            col_skew[j] = third[j - start] / N / var**1.5
