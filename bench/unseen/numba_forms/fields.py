"""Loops for Numba: the programs of many fields."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange


def csr_product(start, column, value, x, y):
    for i in prange(y.shape[0]):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def page_rank(start, column, degree, rank, fresh, steps):
    N = rank.shape[0]
    for _ in range(steps):
        for i in prange(N):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += rank[column[k]] / degree[column[k]]
            fresh[i] = 0.15 / N + 0.85 * total
        for i in prange(N):
            rank[i] = fresh[i]


def dilate(img, out):
    H, W = img.shape
    for i in prange(1, H - 1):
        for j in range(1, W - 1):
            most = img[i, j]
            for p in range(-1, 2):
                for q in range(-1, 2):
                    most = max(most, img[i + p, j + q])
            out[i, j] = most


def local_alignment(a, b, h):
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            match = h[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1)
            h[i, j] = max(0, match, h[i - 1, j] - 1, h[i, j - 1] - 1)


def histogram_2d(x, y, counts):
    B = counts.shape[0]
    for n in range(x.shape[0]):
        counts[int(x[n] * B), int(y[n] * B)] += 1


def american_put(v, rise, fall, strike, price, discount):
    N = v.shape[0]
    for i in range(N):
        v[i] = max(strike - price[i], 0.0)
    for step in range(1, N):
        for i in range(N - step):
            v[i] = max(discount * (rise * v[i + 1] + fall * v[i]), strike - price[i])


def bollinger(p, upper, lower):
    T, S = p.shape
    for block in prange((S + 63) // 64):
        first, last = block * 64, min(S, block * 64 + 64)
        total, squares = np.zeros(64), np.zeros(64)
        for t in range(T):
            for s in range(first, last):
                total[s - first] += p[t, s]
                squares[s - first] += p[t, s] * p[t, s]
                if t >= 20:
                    total[s - first] -= p[t - 20, s]
                    squares[s - first] -= p[t - 20, s] * p[t - 20, s]
                mean = total[s - first] / 20.0
                spread = 2.0 * sqrt(abs(squares[s - first] / 20.0 - mean * mean) + 0.01)
                upper[t, s] = mean + spread
                lower[t, s] = mean - spread


def mahalanobis(X, mean, inverse, out):
    N, D = X.shape
    for n in prange(N):
        total = 0.0
        for d in range(D):
            product = 0.0
            for k in range(D):
                product += (X[n, k] - mean[k]) * inverse[k, d]
            total += product * (X[n, d] - mean[d])
        out[n] = sqrt(total)


def resonators(x, gain, a1, a2, y):
    C, N = y.shape
    for c in prange(C):
        for n in range(2, N):
            y[c, n] = gain[c] * x[n] - a1[c] * y[c, n - 1] - a2[c] * y[c, n - 2]
