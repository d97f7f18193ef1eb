"""Recurrences along one axis: splines, averages, time warping, returns, wavelets, Kepler."""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def spline_rows(y, c, m):
    R, N = y.shape
    c[0] = 0.0
    for i in range(1, N - 1):
        c[i] = 1.0 / (4.0 - c[i - 1])
    for r in range(R):
        m[r, 0] = 0.0
        m[r, N - 1] = 0.0
        for i in range(1, N - 1):
            rhs = 6.0 * (y[r, i - 1] - 2.0 * y[r, i] + y[r, i + 1])
            m[r, i] = (rhs - m[r, i - 1]) * c[i]
        for i in range(N - 2, 0, -1):
            m[r, i] -= c[i] * m[r, i + 1]


def spline_rows_data(rng, R, N):
    return {"y": rng.random((R, N)), "c": np.zeros(N), "m": np.zeros((R, N))}


def macd(price, fast, slow, signal, out):
    T, S = price.shape
    for s in range(S):
        fast[s] = price[0, s]
        slow[s] = price[0, s]
        signal[s] = 0.0
    for t in range(T):
        for s in range(S):
            fast[s] += 0.1538 * (price[t, s] - fast[s])
            slow[s] += 0.0741 * (price[t, s] - slow[s])
            signal[s] += 0.2 * (fast[s] - slow[s] - signal[s])
            out[t, s] = fast[s] - slow[s] - signal[s]


def macd_data(rng, T, S):
    return {
        "price": rng.uniform(90, 110, (T, S)),
        "fast": np.zeros(S),
        "slow": np.zeros(S),
        "signal": np.zeros(S),
        "out": np.zeros((T, S)),
    }


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


def time_warping_data(rng, N, M):
    return {"x": rng.random(N), "y": rng.random(M), "cost": np.zeros((N + 1, M + 1))}


def drawdown(returns, out):
    wealth = np.cumprod(1.0 + returns, axis=0)
    peak = np.maximum.accumulate(wealth, axis=0)
    out[:] = (wealth / peak - 1.0).min(axis=0)


def drawdown_data(rng, T, S):
    return {"returns": rng.normal(0.0, 0.01, (T, S)), "out": np.zeros(S)}


def lifting(x):
    N, M = x.shape
    for i in range(N):
        for j in range(M // 2):
            x[i, 2 * j + 1] -= 0.5 * (x[i, 2 * j] + x[i, 2 * j + 2])
        for j in range(1, M // 2):
            x[i, 2 * j] += 0.25 * (x[i, 2 * j - 1] + x[i, 2 * j + 1])
    for i in range(N // 2):
        for j in range(M):
            x[2 * i + 1, j] -= 0.5 * (x[2 * i, j] + x[2 * i + 2, j])
    for i in range(1, N // 2):
        for j in range(M):
            x[2 * i, j] += 0.25 * (x[2 * i - 1, j] + x[2 * i + 1, j])


def lifting_data(rng, H, W):
    return {"x": rng.random((2 * H + 1, 2 * W + 1))}


def kepler(anomaly, eccentricity, out):
    for i in range(anomaly.shape[0]):
        e = eccentricity[i]
        angle = anomaly[i] + e * np.sin(anomaly[i])
        for _ in range(6):
            wrong = angle - e * np.sin(angle) - anomaly[i]
            angle -= wrong / (1.0 - e * np.cos(angle))
        out[i] = angle


def kepler_data(rng, N):
    return {
        "anomaly": rng.uniform(0, 3.1, N),
        "eccentricity": rng.uniform(0, 0.7, N),
        "out": np.zeros(N),
    }


PROGRAMS = (
    Program(spline_rows, spline_rows_data, {"R": 4403, "N": 2101}, {"R": 5, "N": 9}, ("m",)),
    Program(macd, macd_data, {"T": 4001, "S": 2003}, {"T": 6, "S": 7}, ("out", "signal")),
    Program(time_warping, time_warping_data, {"N": 3001, "M": 2503}, {"N": 7, "M": 9}, ("cost",)),
    Program(drawdown, drawdown_data, {"T": 4001, "S": 3001}, {"T": 9, "S": 5}, ("out",), True),
    Program(lifting, lifting_data, {"H": 1703, "W": 1607}, {"H": 4, "W": 5}, ("x",)),
    Program(kepler, kepler_data, {"N": 1200011}, {"N": 7}, ("out",)),
)
