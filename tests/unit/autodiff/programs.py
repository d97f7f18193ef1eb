"""Programs to differentiate, with data: loops and NumPy forms of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass


@dataclass(frozen=True)
class Case:
    """A function, its arguments, and the parameters to differentiate by."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    by: tuple[int, ...]


def data(*shape: int, seed: int = 0, low: float = 0.5, high: float = 1.5) -> np.ndarray:
    rng = np.random.default_rng((seed, *shape))
    return rng.uniform(low, high, shape)


def loops(a, b, c):
    n, m = a.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            c[i, j] = np.exp(a[i, j]) * b[j]
            s += c[i, j] ** 2
    return s


def nonlinear_steps(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.3 * (u[:-2] + u[1:-1] + u[2:]) * u[1:-1]
    return np.sum(u * u)


def perceptron(x, w, b, v):
    y = np.tanh(x @ w + b)
    m = np.max(y @ v, axis=1, keepdims=True)
    e = np.exp(y @ v - m)
    return -np.mean(np.log(e[:, 0] / e.sum(axis=1)))


def indirect(x, index, out):
    for i in range(x.shape[0]):
        out[index[i]] += x[i] * x[i]
    s = 0.0
    for i in range(out.shape[0]):
        s += out[i] * np.sin(out[i])
    return s


def branches(x):
    t = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            t += x[i] * x[i]
        else:
            t *= x[i]
    return t


def recurrence(x, a):
    s = 1.0
    for i in range(x.shape[0]):
        s = s * a + np.sin(s) * x[i]
    return s


def in_place_sweep(u, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            u[i] = (u[i - 1] + u[i] * u[i + 1]) / 2.0
    s = 0.0
    for i in range(u.shape[0]):
        s += u[i]
    return s


def factorization(a):
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    s = 0.0
    for i in range(n):
        s += np.log(a[i, i])
    return s


def triangular_product(low, b, alpha):
    n, m = b.shape
    for i in range(n):
        for j in range(m):
            for k in range(i + 1, n):
                b[i, j] += low[k, i] * b[k, j]
            b[i, j] *= alpha
    return np.sum(b * b)


def triangular_solve(low, b):
    n = b.shape[0]
    x = np.zeros_like(b)
    for i in range(n):
        t = b[i]
        for j in range(i):
            t -= low[i, j] * x[j]
        x[i] = t / low[i, i]
    return np.sum(x * x)


def product_of_all(x):
    return np.prod(x) + np.sum(np.cumsum(x) ** 3)


def extrema(x, y):
    return np.sum(np.maximum(x, y) * x) + np.max(x) * np.min(y) + np.sum(np.abs(x - y))


def heads(x, w, count):
    n, m = x.shape
    y = (x @ w).reshape(n, count, m // count)
    s = y.transpose(1, 0, 2) @ y.transpose(1, 2, 0)
    return np.sum(s * s) + np.sum(np.max(x, axis=0) * np.min(x, axis=0))


def ties(x):
    return np.max(x) * 3.0 + np.min(np.maximum(x, 1.0))


def functions(x, y):
    z = np.sqrt(x) + np.log(y) * np.sin(x) - np.cos(y) / np.tan(x) + np.arctan2(x, y)
    z = z + np.hypot(x, y) + x**3 + y**2.5 + x**y + np.log1p(x) + np.expm1(y) + np.sinh(x)
    z = z + np.cosh(y) + np.arctan(x) + np.arcsinh(y) + np.cbrt(x) + np.exp2(y) + np.log2(x)
    return np.sum(z + np.log10(y))


def guarded(x):
    return np.sum(np.where(x > 1.0, np.log(np.maximum(x - 1.0, 0.0) + 1e-3), 0.0))


def backward_loop(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = x[i] * x[i]
        if i < n - 1:
            y[i] += y[i + 1] * x[i]
    return y[0]


def strided(x):
    s = 0.0
    for i in range(1, x.shape[0], 3):
        x[i] = x[i] * x[i - 1]
        s += x[i] * x[i]
    return s


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1] * 1.0)
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return np.sum((p @ v) ** 2)


def layernorm(x, g, b):
    mean = np.mean(x, axis=1, keepdims=True)
    var = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    return np.sum(((x - mean) / np.sqrt(var + 1e-5) * g + b) ** 3)


def scalars(x, alpha, beta):
    return alpha * np.sum(x * x) + beta**2 * np.sum(x)


def scratch(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = x[i] * 2.0
        t = t * t + x[i]
        s += t * t
    return s


def helper(v):
    return v * v * v


def with_helper(x):
    return np.sum(helper(x) + helper(x[::-1]) * x)


def convolution(image, kernel):
    n, k = image.shape[0], kernel.shape[0]
    out = np.zeros((n - k + 1, n - k + 1))
    for i in range(n - k + 1):
        for j in range(n - k + 1):
            for p in range(k):
                for q in range(k):
                    out[i, j] += image[i + p, j + q] * kernel[p, q]
    return np.sum(np.maximum(out - 4.0, 0.0) ** 2)


def views(x):
    y = x.copy()
    y[1:, :] += x[:-1, :] * 2.0
    y[:, ::2] *= x[:, ::2]
    return np.sum(y.T @ y)


def double_buffer(a, b, steps):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]) ** 2
        for i in range(1, n - 1):
            a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1])
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s


def three_written(a, b, c):
    a[1:] *= a[:-1]
    b[:, 0] = a * b[:, 1]
    c[...] = c * c
    return np.sum(a) * np.sum(b * b) + np.sum(c)


def _spd(n: int) -> np.ndarray:
    a = data(n, n)
    return a @ a.T + n * np.eye(n)


def channels(image, weights):
    rows = image.shape[0] - weights.shape[0] + 1
    out = np.zeros((rows, weights.shape[2]))
    for i in range(rows):
        for p in range(weights.shape[0]):
            for c in range(image.shape[1]):
                for o in range(weights.shape[2]):
                    out[i, o] += image[i + p, c] * weights[p, c, o]
    return np.sum(np.tanh(out))


def advected(u, v, steps):
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        u[1:-1] = un[1:-1] - 0.1 * vn[1:-1] * (un[1:-1] - un[:-2])
        v[1:-1] = vn[1:-1] - 0.1 * un[1:-1] * (vn[1:-1] - vn[:-2])
        u[0] = v[-1] = 1.0
    return np.sum(u * v)


def pooled(x):
    out = np.empty((x.shape[0] // 2, x.shape[1]))
    for i in range(x.shape[0] // 2):
        out[i] = np.max(x[2 * i : 2 * i + 2], axis=0)
    return np.sum(out * out)


def filtered(x, taps):
    s = 0.0
    for k in range(x.shape[0]):
        for j in range(taps.shape[0]):
            s += x[k - j] * taps[j] * x[k - j] if k >= j else 0.1
    return s


def chosen_weights(x, weights, marks):
    s = 0.0
    for k in range(marks.shape[0]):
        if marks[k] > 1.0:
            s += x[k] * x[k] * weights[2]
        else:
            s *= weights[1] * x[2 * k]
    return s


CASES = {
    case.function.__name__: case
    for case in (
        Case(loops, (data(3, 4), data(4), data(3, 4)), (0, 1, 2)),
        Case(channels, (data(7, 2), data(3, 2, 4)), (0, 1)),
        Case(advected, (data(7), data(7, seed=1), 3), (0, 1)),
        Case(pooled, (data(7, 3),), (0,)),
        Case(nonlinear_steps, (data(7), 3), (0,)),
        Case(perceptron, (data(4, 3), data(3, 5, low=-1), data(5), data(5, 3)), (0, 1, 2, 3)),
        Case(indirect, (data(5), np.array([0, 2, 1, 2, 0]), data(3)), (0, 2)),
        Case(branches, (data(6),), (0,)),
        Case(recurrence, (data(5), 0.7), (0, 1)),
        Case(in_place_sweep, (data(6), 3), (0,)),
        Case(factorization, (_spd(4),), (0,)),
        Case(triangular_product, (data(4, 4), data(4, 3), 1.5), (0, 1, 2)),
        Case(triangular_solve, (data(4, 4, low=1), data(4)), (0, 1)),
        Case(product_of_all, (data(5),), (0,)),
        Case(extrema, (data(6), data(6, seed=1)), (0, 1)),
        Case(heads, (data(3, 4), data(4, 4), 2), (0, 1)),
        Case(functions, (data(4), data(4, seed=1)), (0, 1)),
        Case(guarded, (data(6),), (0,)),
        Case(backward_loop, (data(5),), (0,)),
        Case(strided, (data(9),), (0,)),
        Case(attention, (data(3, 2), data(4, 2), data(4, 2)), (0, 1, 2)),
        Case(layernorm, (data(3, 5), data(5), data(5)), (0, 1, 2)),
        Case(scalars, (data(4), 0.5, 1.5), (0, 1, 2)),
        Case(scratch, (data(4),), (0,)),
        Case(with_helper, (data(4),), (0,)),
        Case(convolution, (data(5, 5), data(3, 3)), (0, 1)),
        Case(views, (data(4, 4),), (0,)),
        Case(three_written, (data(3), data(3, 2), data(2, 2, 2)), (0, 1, 2)),
        Case(filtered, (data(6), data(3)), (0, 1)),
        Case(chosen_weights, (data(9), data(3), data(5)), (0, 1)),
        Case(double_buffer, (data(6), data(6), 2), (0, 1)),
    )
}
