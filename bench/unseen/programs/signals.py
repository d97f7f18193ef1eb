"""Signals and samples, written later than the other programs: banks of filters, lags, volatility.

They were first timed before any decision of the compiler was made with them at hand; volatility and
local_contrast led to changes since.
"""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def fir_bank(x, taps, y):
    for c in range(taps.shape[0]):
        for n in range(y.shape[1]):
            acc = 0.0
            for k in range(taps.shape[1]):
                acc += taps[c, k] * x[n + k]
            y[c, n] = acc


def fir_bank_data(rng, N, C, K):
    return {"x": rng.random(N + K - 1), "taps": rng.random((C, K)), "y": np.zeros((C, N))}


def autocovariance(x, out):
    N = x.shape[0]
    mean = 0.0
    for n in range(N):
        mean += x[n]
    mean /= N
    for lag in range(out.shape[0]):
        total = 0.0
        for n in range(N - lag):
            total += (x[n] - mean) * (x[n + lag] - mean)
        out[lag] = total / N


def autocovariance_data(rng, N, L):
    return {"x": rng.random(N), "out": np.zeros(L)}


def reaction_spots(u, v, feed, kill, steps):
    for _ in range(steps):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        u[1:-1, 1:-1] += 0.16 * lu - uvv + feed * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - (feed + kill) * v[1:-1, 1:-1]


def reaction_spots_data(rng, N, M, steps):
    shape = (N, M)
    return {
        "u": 0.5 + 0.5 * rng.random(shape),
        "v": 0.3 * rng.random(shape),
        "feed": 0.035,
        "kill": 0.06,
        "steps": steps,
    }


def great_circles(lat, lon, lat0, lon0, out):
    half = 0.5 * (lat[:, None] - lat0[None, :])
    turn = 0.5 * (lon[:, None] - lon0[None, :])
    a = np.sin(half) ** 2 + np.cos(lat)[:, None] * np.cos(lat0) * np.sin(turn) ** 2
    out[:] = 12742.0 * np.sqrt(a)


def great_circles_data(rng, N, M):
    return {
        "lat": rng.uniform(-1.5, 1.5, N),
        "lon": rng.uniform(-3, 3, N),
        "lat0": rng.uniform(-1.5, 1.5, M),
        "lon0": rng.uniform(-3, 3, M),
        "out": np.zeros((N, M)),
    }


def volatility(r, var, score):
    T, S = r.shape
    for s in range(S):
        var[0, s] = 0.0001
        score[0, s] = 0.0
    for t in range(1, T):
        for s in range(S):
            var[t, s] = 0.94 * var[t - 1, s] + 0.06 * r[t - 1, s] ** 2
            score[t, s] = r[t, s] / np.sqrt(var[t, s])


def volatility_data(rng, T, S):
    return {"r": rng.normal(0, 0.01, (T, S)), "var": np.zeros((T, S)), "score": np.zeros((T, S))}


def nearest(X, Y, out):
    squares = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1) - 2.0 * (X @ Y.T)
    out[:] = squares.min(axis=1)


def nearest_data(rng, N, M, D):
    return {"X": rng.random((N, D)), "Y": rng.random((M, D)), "out": np.zeros(N)}


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


def thomas_columns_data(rng, N, S):
    shape = (N, S)
    return {
        "a": rng.random(shape),
        "b": 3.0 + rng.random(shape),
        "c": rng.random(shape),
        "d": rng.random(shape),
        "work": np.zeros(shape),
    }


def local_contrast(img, out):
    H, W = img.shape
    for i in range(H - 4):
        for j in range(W - 4):
            total = 0.0
            squares = 0.0
            for p in range(5):
                for q in range(5):
                    total += img[i + p, j + q]
                    squares += img[i + p, j + q] * img[i + p, j + q]
            mean = total / 25.0
            out[i, j] = (img[i + 2, j + 2] - mean) / np.sqrt(squares / 25.0 - mean * mean + 0.01)


def local_contrast_data(rng, H, W):
    return {"img": rng.random((H, W)), "out": np.zeros((H - 4, W - 4))}


PROGRAMS = (
    Program(
        fir_bank, fir_bank_data, {"N": 150011, "C": 13, "K": 31}, {"N": 9, "C": 2, "K": 3}, ("y",)
    ),
    Program(
        autocovariance, autocovariance_data, {"N": 400009, "L": 57}, {"N": 19, "L": 4}, ("out",)
    ),
    Program(
        reaction_spots,
        reaction_spots_data,
        {"N": 701, "M": 809, "steps": 15},
        {"N": 7, "M": 9, "steps": 3},
        ("u", "v"),
        True,
    ),
    Program(
        great_circles, great_circles_data, {"N": 3001, "M": 707}, {"N": 5, "M": 3}, ("out",), True
    ),
    Program(
        volatility, volatility_data, {"T": 2003, "S": 1501}, {"T": 6, "S": 7}, ("var", "score")
    ),
    Program(
        nearest,
        nearest_data,
        {"N": 5003, "M": 1201, "D": 13},
        {"N": 7, "M": 5, "D": 3},
        ("out",),
        True,
    ),
    Program(thomas_columns, thomas_columns_data, {"N": 1201, "S": 1507}, {"N": 6, "S": 5}, ("d",)),
    Program(
        local_contrast, local_contrast_data, {"H": 1207, "W": 1409}, {"H": 9, "W": 11}, ("out",)
    ),
)
