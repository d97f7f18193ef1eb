"""Programs of reductions, masks and broadcasting."""

from __future__ import annotations

import math

import numpy as np

from tests.unit.frontend.corpus import case, mat, vec, vec2

DT = 0.01
GRAVITY = np.float32(9.81)


# -- reductions and statistics ------------------------------------------------------------------


@case(mat, 1)
def statistics(A):
    return A.mean(axis=0), A.std(axis=0), A.var(), A.min(axis=1), A.max()


@case(mat)
def sums(A):
    return (
        A.sum(),
        A.sum(axis=0),
        A.sum(axis=-1, keepdims=True),
        np.sum(A, axis=(0, 1)),
        A.prod(axis=1),
    )


@case(mat, 1)
def standardize(A):
    return (A - A.mean(axis=0)) / (A.std(axis=0) + 1e-8)


@case(mat, 1)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@case(mat, 1)
def logsumexp(x):
    m = np.max(x, axis=-1)
    return m + np.log(np.sum(np.exp(x - m[:, None]), axis=-1))


@case(lambda n, r: (*mat(n, r), r.standard_normal(n + 2), r.standard_normal(n + 2)))
def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + 1e-5) + bias


@case(mat, 2)
def covariance(data):
    n = data.shape[0]
    centred = data - data.mean(axis=0)
    return centred.T @ centred / (n - 1)


@case(vec2, 1)
def regression(x, y):
    xm = x.mean()
    ym = y.mean()
    slope = np.sum((x - xm) * (y - ym)) / (np.sum((x - xm) ** 2) + 1e-9)
    return slope, ym - slope * xm


@case(lambda n, r: (r.integers(-5, 5, n, dtype=np.int32), r.standard_normal(n) > 0))
def integer_sums(counts, mask):
    return (
        counts.sum(),
        mask.sum(),
        np.sum(counts * mask),
        counts.mean(),
        np.any(mask),
        np.all(mask),
    )


@case(vec, 1)
def largest(x):
    best = x[0]
    where = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            where = i
    return best, where


@case(vec)
def count_positive(x):
    count = 0
    total = 0.0
    for i in range(x.size):
        if x[i] > 0 and x[i] < 1:
            count += 1
            total += x[i]
    return count, total


@case(mat)
def row_norms(A):
    norms = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        norms[i] = np.sqrt((A[i] ** 2).sum())
    return norms


@case(vec2)
def running_maximum(x, out):
    m = -np.inf
    for i in range(len(x)):
        m = max(m, x[i])
        out[i] = m


# -- elementwise, masks, broadcasting -----------------------------------------------------------


@case(vec2)
def where_chain(x, y):
    return np.where(x > y, x, np.where(x < 0, -x, y * 2)), np.maximum(x, 0), np.minimum(x, y)


@case(vec)
def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@case(lambda n, r: (np.abs(r.standard_normal(n)) + 0.1, 100.0, 0.05, 0.2))
def black_scholes(t, strike, rate, sigma):
    spot = 100.0
    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * t) / (sigma * np.sqrt(t))
    d2 = d1 - sigma * np.sqrt(t)
    cdf1 = 0.5 * (1 + np.tanh(0.8 * d1))
    cdf2 = 0.5 * (1 + np.tanh(0.8 * d2))
    return spot * cdf1 - strike * np.exp(-rate * t) * cdf2


@case(lambda n, r: (r.standard_normal((n, 3)),))
def pairwise_distances(X):
    diff = X[:, None, :] - X[None, :, :]
    return np.sqrt(np.sum(diff**2, axis=-1))


@case(
    lambda n, r: (
        r.standard_normal((n, 3)),
        r.standard_normal((n, 3)),
        np.abs(r.standard_normal(n)),
    )
)
def nbody(pos, vel, mass):
    n = pos.shape[0]
    acc = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            d = pos[j] - pos[i]
            inv = (d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.01) ** (-1.5)
            acc[i] += mass[j] * d * inv
    vel += DT * acc
    pos += DT * vel


@case(vec)
def outer_sum(x):
    return x[:, np.newaxis] + np.exp(x), np.add.outer(x, x)


@case(vec2)
def comparisons(x, y):
    return (x < y) & (x > 0), (x <= y) | ~(y > 0), (x > 0) ^ (y > 0), x > -1


@case(vec)
def rounding(x):
    return (
        np.floor(x),
        np.ceil(x),
        np.trunc(x),
        np.rint(x),
        np.sign(x),
        np.abs(x),
        x // 0.5,
        x % 0.5,
    )


@case(lambda n, r: (r.integers(-9, 9, n), r.integers(1, 5, n)))
def integer_arithmetic(a, b):
    return (
        a // b,
        a % b,
        a * b - 3,
        a / b,
        a**2,
        a**3,
        a & b,
        a | b,
        a ^ b,
        a << b,
        a >> b,
        -a,
        abs(a),
    )


@case(lambda n, r: (r.standard_normal(n).astype(np.float32), r.integers(0, 9, n, dtype=np.int32)))
def promotion(x, k):
    return x * 2, x + k, x * 0.5 + 1, k / 2, k * 2.5, GRAVITY * x, np.float64(2) * x, x + np.pi


@case(lambda n, r: (r.standard_normal(n) + 1j * r.standard_normal(n),))
def complex_numbers(z):
    return z * z.conj(), np.abs(z), z.real + z.imag, np.exp(1j * z.real), (z * 2).sum()


@case(lambda n, r: (r.standard_normal(n), 0.25, 0.75))
def clip_and_scale(x, low, high):
    y = np.clip(x, low, high)
    y -= low
    y /= high - low
    return y


@case(vec)
def conditional_expression(x):
    n = len(x)
    for i in range(n):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < n - 1 else 0.0
        x[i] = 0.5 * (left + right)


@case(lambda n, r: (r.standard_normal((n, n + 2)), 2))
def clamped_window(x, reach):
    rows, columns = x.shape
    out = np.empty_like(x)
    for i in range(rows):
        for j in range(columns):
            total, weights = 0.0, 0.0
            for di in range(-reach, reach + 1):
                for dj in range(-reach, reach + 1):
                    near = x[min(max(i + di, 0), rows - 1), min(max(j + dj, 0), columns - 1)]
                    weight = 1.0 / (1.0 + abs(near - x[i, j]) + di * di + dj * dj)
                    total += weight * near
                    weights += weight
            out[i, j] = total / weights
    return out


@case(lambda n, r: (r.standard_normal(n), 3))
def wrapped_window(x, reach):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        for d in range(-reach, reach):
            out[i] += x[(i + d) % n] * (d + 0.5)
    return out


@case(vec)
def math_functions(x):
    for i in range(len(x)):
        x[i] = math.exp(-abs(x[i])) + math.sin(x[i]) * math.sqrt(2.0) + min(x[i], 0.0) + float(i)


@case(vec)
def guarded_update(x):
    for i in range(len(x)):
        if x[i] > 0:
            x[i] = -x[i]
        else:
            x[i] = 2 * x[i]
