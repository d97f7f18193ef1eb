"""Loops for Numba: the signals."""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np
from numba import prange


def fir_bank(x, taps, y):
    C, K = taps.shape
    for c in prange(C):
        for n in range(y.shape[1]):
            acc = 0.0
            for k in range(K):
                acc += taps[c, k] * x[n + k]
            y[c, n] = acc


def autocovariance(x, out):
    N = x.shape[0]
    mean = 0.0
    for n in prange(N):
        mean += x[n]
    mean /= N
    for lag in prange(out.shape[0]):
        total = 0.0
        for n in range(N - lag):
            total += (x[n] - mean) * (x[n + lag] - mean)
        out[lag] = total / N


def reaction_spots(u, v, feed, kill, steps):
    N, M = u.shape
    a, b = u.copy(), v.copy()
    for _ in range(steps):
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                p, q = a[i, j], b[i, j]
                lu = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * p
                lv = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1] - 4 * q
                uvv = p * q * q
                u[i, j] = p + 0.16 * lu - uvv + feed * (1 - p)
                v[i, j] = q + 0.08 * lv + uvv - (feed + kill) * q
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                a[i, j] = u[i, j]
                b[i, j] = v[i, j]


def great_circles(lat, lon, lat0, lon0, out):
    c = np.cos(lat0)
    for i in prange(lat.shape[0]):
        ci = cos(lat[i])
        for j in range(lat0.shape[0]):
            h, t = sin(0.5 * (lat[i] - lat0[j])), sin(0.5 * (lon[i] - lon0[j]))
            out[i, j] = 12742.0 * sqrt(h * h + ci * c[j] * t * t)


def volatility(r, var, score):
    T, S = r.shape
    for s in range(S):
        var[0, s] = 0.0001
        score[0, s] = 0.0
    for t in range(1, T):
        for s in range(S):
            var[t, s] = 0.94 * var[t - 1, s] + 0.06 * r[t - 1, s] ** 2
            score[t, s] = r[t, s] / sqrt(var[t, s])


def nearest(X, Y, out):
    M, D = Y.shape
    for i in prange(X.shape[0]):
        best = np.inf
        for j in range(M):
            total = 0.0
            for d in range(D):
                difference = X[i, d] - Y[j, d]
                total += difference * difference
            best = min(best, total)
        out[i] = best


def thomas_columns(a, b, c, d, work):
    N, S = d.shape
    for s in range(S):
        work[0, s] = c[0, s] / b[0, s]
        d[0, s] = d[0, s] / b[0, s]
    for i in range(1, N):
        for s in range(S):
            pivot = 1.0 / (b[i, s] - a[i, s] * work[i - 1, s])
            work[i, s] = c[i, s] * pivot
            d[i, s] = (d[i, s] - a[i, s] * d[i - 1, s]) * pivot
    for i in range(N - 2, -1, -1):
        for s in range(S):
            d[i, s] -= work[i, s] * d[i + 1, s]


def local_contrast(img, out):
    H, W = img.shape
    for i in prange(H - 4):
        for j in range(W - 4):
            total = 0.0
            squares = 0.0
            for p in range(5):
                for q in range(5):
                    x = img[i + p, j + q]
                    total += x
                    squares += x * x
            mean = total / 25.0
            out[i, j] = (img[i + 2, j + 2] - mean) / sqrt(squares / 25.0 - mean * mean + 0.01)
