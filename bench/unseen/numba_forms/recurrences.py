"""Recurrences along one axis in loops for Numba."""

from __future__ import annotations

from math import cos, sin

import numpy as np
from numba import prange


def spline_rows(y, c, m):
    R, N = y.shape
    c[0] = 0.0
    for i in range(1, N - 1):
        c[i] = 1.0 / (4.0 - c[i - 1])
    for r in prange(R):
        m[r, 0] = 0.0
        m[r, N - 1] = 0.0
        for i in range(1, N - 1):
            rhs = 6.0 * (y[r, i - 1] - 2.0 * y[r, i] + y[r, i + 1])
            m[r, i] = (rhs - m[r, i - 1]) * c[i]
        for i in range(N - 2, 0, -1):
            m[r, i] -= c[i] * m[r, i + 1]


def macd(price, fast, slow, signal, out):
    T, S = price.shape
    for block in prange((S + 127) // 128):
        start = 128 * block
        end = min(start + 128, S)
        for s in range(start, end):
            fast[s] = price[0, s]
            slow[s] = price[0, s]
            signal[s] = 0.0
        for t in range(T):
            for s in range(start, end):
                fast[s] += 0.1538 * (price[t, s] - fast[s])
                slow[s] += 0.0741 * (price[t, s] - slow[s])
                signal[s] += 0.2 * (fast[s] - slow[s] - signal[s])
                out[t, s] = fast[s] - slow[s] - signal[s]


def time_warping(x, y, cost):
    n = x.shape[0]
    m = y.shape[0]
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        cost[i, 0] = 0.5 * i
    for j in range(1, m + 1):
        cost[0, j] = 0.5 * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = abs(x[i - 1] - y[j - 1]) + best


def drawdown(returns, out):
    T, S = returns.shape
    for block in prange((S + 127) // 128):
        start = 128 * block
        end = min(start + 128, S)
        wealth = np.ones(128, out.dtype)
        peak = np.zeros(128, out.dtype)
        for s in range(start, end):
            out[s] = np.inf
        for t in range(T):
            for s in range(start, end):
                w = wealth[s - start] * (1.0 + returns[t, s])
                p = max(peak[s - start], w)
                wealth[s - start] = w
                peak[s - start] = p
                out[s] = min(out[s], w / p - 1.0)


def lifting(x):
    N, M = x.shape
    for i in prange(N):
        for j in range(M // 2):
            x[i, 2 * j + 1] -= 0.5 * (x[i, 2 * j] + x[i, 2 * j + 2])
        for j in range(1, M // 2):
            x[i, 2 * j] += 0.25 * (x[i, 2 * j - 1] + x[i, 2 * j + 1])
    for i in prange(N // 2):
        for j in range(M):
            x[2 * i + 1, j] -= 0.5 * (x[2 * i, j] + x[2 * i + 2, j])
    for i in prange(1, N // 2):
        for j in range(M):
            x[2 * i, j] += 0.25 * (x[2 * i - 1, j] + x[2 * i + 1, j])


def kepler(anomaly, eccentricity, out):
    for i in prange(anomaly.shape[0]):
        e = eccentricity[i]
        angle = anomaly[i] + e * sin(anomaly[i])
        for _ in range(6):
            wrong = angle - e * sin(angle) - anomaly[i]
            angle -= wrong / (1.0 - e * cos(angle))
        out[i] = angle
