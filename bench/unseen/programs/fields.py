"""Programs of many fields: sparse rows, graphs, images, options, dynamic programming, histograms.

They were first timed before any decision of the compiler was made with them at hand.
"""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def csr_product(start, column, value, x, y):
    for i in range(y.shape[0]):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def _rows(rng, N, K):
    start = np.minimum(np.arange(N + 1) * K // N, K)
    return start.astype(np.int64), rng.integers(0, N, K)


def csr_product_data(rng, N, K):
    start, column = _rows(rng, N, K)
    x, y = rng.random(N), np.zeros(N)
    return {"start": start, "column": column, "value": rng.random(K), "x": x, "y": y}


def page_rank(start, column, degree, rank, fresh, steps):
    N = rank.shape[0]
    for _ in range(steps):
        for i in range(N):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += rank[column[k]] / degree[column[k]]
            fresh[i] = 0.15 / N + 0.85 * total
        for i in range(N):
            rank[i] = fresh[i]


def page_rank_data(rng, N, K, steps):
    start, column = _rows(rng, N, K)
    degree = 1.0 + np.bincount(column, minlength=N)
    rank = np.full(N, 1.0 / N)
    return {
        "start": start,
        "column": column,
        "degree": degree,
        "rank": rank,
        "fresh": np.zeros(N),
        "steps": steps,
    }


def dilate(img, out):
    out[1:-1, 1:-1] = img[1:-1, 1:-1]
    for di in range(3):
        for dj in range(3):
            window = img[di : di + out.shape[0] - 2, dj : dj + out.shape[1] - 2]
            out[1:-1, 1:-1] = np.maximum(out[1:-1, 1:-1], window)


def dilate_data(rng, H, W):
    return {"img": rng.random((H, W)), "out": np.zeros((H, W))}


def local_alignment(a, b, h):
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            match = h[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1)
            h[i, j] = max(0, match, h[i - 1, j] - 1, h[i, j - 1] - 1)


def local_alignment_data(rng, N, M):
    a, b = rng.integers(0, 4, N), rng.integers(0, 4, M)
    return {"a": a, "b": b, "h": np.zeros((N + 1, M + 1), np.int64)}


def histogram_2d(x, y, counts):
    B = counts.shape[0]
    for n in range(x.shape[0]):
        counts[int(x[n] * B), int(y[n] * B)] += 1


def histogram_2d_data(rng, N, B):
    x, y = 0.999 * rng.random(N), 0.999 * rng.random(N)
    return {"x": x, "y": y, "counts": np.zeros((B, B), np.int64)}


def american_put(v, rise, fall, strike, price, discount):
    N = v.shape[0]
    for i in range(N):
        v[i] = max(strike - price[i], 0.0)
    for step in range(1, N):
        for i in range(N - step):
            v[i] = max(discount * (rise * v[i + 1] + fall * v[i]), strike - price[i])


def american_put_data(rng, N):
    price = np.sort(50.0 + 100.0 * rng.random(N))
    return {
        "v": np.zeros(N),
        "rise": 0.51,
        "fall": 0.49,
        "strike": 100.0,
        "price": price,
        "discount": 0.9999,
    }


def bollinger(p, upper, lower):
    T, S = p.shape
    for s in range(S):
        total = 0.0
        squares = 0.0
        for t in range(T):
            total += p[t, s]
            squares += p[t, s] * p[t, s]
            if t >= 20:
                total -= p[t - 20, s]
                squares -= p[t - 20, s] * p[t - 20, s]
            mean = total / 20.0
            spread = 2.0 * np.sqrt(abs(squares / 20.0 - mean * mean) + 0.01)
            upper[t, s] = mean + spread
            lower[t, s] = mean - spread


def bollinger_data(rng, T, S):
    shape = (T, S)
    return {"p": rng.random(shape), "upper": np.zeros(shape), "lower": np.zeros(shape)}


def mahalanobis(X, mean, inverse, out):
    centred = X - mean
    out[:] = np.sqrt(((centred @ inverse) * centred).sum(axis=1))


def mahalanobis_data(rng, N, D):
    root = rng.random((D, D))
    inverse = root @ root.T + np.eye(D)
    return {"X": rng.random((N, D)), "mean": rng.random(D), "inverse": inverse, "out": np.zeros(N)}


def resonators(x, gain, a1, a2, y):
    C, N = y.shape
    for c in range(C):
        for n in range(2, N):
            y[c, n] = gain[c] * x[n] - a1[c] * y[c, n - 1] - a2[c] * y[c, n - 2]


def resonators_data(rng, C, N):
    return {
        "x": rng.random(N),
        "gain": rng.random(C),
        "a1": 0.2 * rng.random(C),
        "a2": 0.5 * rng.random(C),
        "y": np.zeros((C, N)),
    }


PROGRAMS = (
    Program(csr_product, csr_product_data, {"N": 60013, "K": 700027}, {"N": 7, "K": 19}, ("y",)),
    Program(
        page_rank,
        page_rank_data,
        {"N": 20011, "K": 170003, "steps": 7},
        {"N": 7, "K": 19, "steps": 3},
        ("rank",),
    ),
    Program(dilate, dilate_data, {"H": 1103, "W": 1307}, {"H": 7, "W": 9}, ("out",), True),
    Program(
        local_alignment, local_alignment_data, {"N": 1501, "M": 1703}, {"N": 7, "M": 9}, ("h",)
    ),
    Program(
        histogram_2d, histogram_2d_data, {"N": 900001, "B": 67}, {"N": 50, "B": 5}, ("counts",)
    ),
    Program(american_put, american_put_data, {"N": 3001}, {"N": 13}, ("v",)),
    Program(
        bollinger, bollinger_data, {"T": 2003, "S": 907}, {"T": 27, "S": 5}, ("upper", "lower")
    ),
    Program(mahalanobis, mahalanobis_data, {"N": 60007, "D": 23}, {"N": 7, "D": 3}, ("out",), True),
    Program(resonators, resonators_data, {"C": 301, "N": 5003}, {"C": 5, "N": 11}, ("y",)),
)
