"""Programs in the style of Numba's user manual and examples.

`numba.prange` and the decorators became polyopt's; what else differs is in `changed`.
"""

from __future__ import annotations

import math

import numpy as np

from polyopt import prange
from tests.ported.record import ported


@ported(lambda r: (r.random((37, 23)),))
def sum2d(arr):
    m, n = arr.shape
    result = 0.0
    for i in range(m):
        for j in range(n):
            result += arr[i, j]
    return result


@ported(lambda r: (-2.0, 1.0, -1.0, 1.0, np.zeros((20, 30), dtype=np.uint8), 20))
def create_fractal(min_x, max_x, min_y, max_y, image, iters):
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    for x in range(width):
        real = min_x + x * pixel_size_x
        for y in range(height):
            imag = min_y + y * pixel_size_y
            color = iters
            c = complex(real, imag)
            z = 0.0j
            for i in range(iters):
                z = z * z + c
                if (z.real * z.real + z.imag * z.imag) >= 4:
                    color = i
                    break
            image[y, x] = color
    return image


@ported(lambda r: (r.random(40),))
def bubblesort(X):
    N = len(X)
    for end in range(N, 1, -1):
        for i in range(end - 1):
            cur = X[i]
            if cur > X[i + 1]:
                tmp = X[i]
                X[i] = X[i + 1]
                X[i + 1] = tmp


@ported(lambda r: (r.random(1000),))
def do_sum(A):
    acc = 0.0
    for x in A:
        acc += np.sqrt(x)
    return acc


@ported(lambda r: (r.random(300),))
def two_d_array_reduction_prod(x):
    n = x.shape[0]
    result1 = 2 * np.ones((13, 17), np.int64)
    tmp = np.full((13, 17), 3, np.int64)
    for i in prange(n):
        if x[i] > 0.95:
            result1 *= tmp
    return result1


@ported(lambda r: (r.random(200), r.random(200)))
def rel_diff(x, y):
    return 2 * (x - y) / (x + y)


@ported(lambda r: (100.0 * r.random(64), 90 + r.random(64), 0.5 + r.random(64), 0.02, 0.3))
def black_scholes(stock, strike, t, rate, vol):
    call = np.empty_like(stock)
    put = np.empty_like(stock)
    for i in prange(stock.shape[0]):
        d1 = (np.log(stock[i] / strike[i]) + (rate + 0.5 * vol * vol) * t[i]) / (
            vol * np.sqrt(t[i])
        )
        d2 = d1 - vol * np.sqrt(t[i])
        cdf1 = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
        cdf2 = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
        exp_rt = math.exp(-rate * t[i])
        call[i] = stock[i] * cdf1 - strike[i] * exp_rt * cdf2
        put[i] = strike[i] * exp_rt * (1.0 - cdf2) - stock[i] * (1.0 - cdf1)
    return call, put


@ported(lambda r: (np.where(np.arange(25)[:, None] == 0, 1.0, 0.0) * np.ones((25, 31)), 1e-2, 40))
def laplace2d(A, tol, iter_max):
    Anew = A.copy()
    n = A.shape[0]
    m = A.shape[1]
    error = 1.0
    iter = 0
    while error > tol and iter < iter_max:
        error = 0.0
        for j in range(1, n - 1):
            for i in range(1, m - 1):
                Anew[j, i] = 0.25 * (A[j, i + 1] + A[j, i - 1] + A[j - 1, i] + A[j + 1, i])
                error = max(error, abs(Anew[j, i] - A[j, i]))
        for j in range(n):
            for i in range(m):
                A[j, i] = Anew[j, i]
        iter += 1
    return iter


@ported(lambda r: (r.random(60), np.array([0.1, 0.5, 0.8]), 0.2))
def kde(X, points, b):
    n = len(X)
    exps = 0.0
    for i in prange(n):
        p = X[i]
        d = (-((p - points) ** 2)) / (2 * b**2)
        m = np.min(d)
        exps += m - np.log(b * n) + np.log(np.sum(np.exp(d - m)))
    return exps


@ported(lambda r: (np.sign(r.random(50) - 0.5), r.random((50, 6)), r.random(6), 8))
def logistic_regression(Y, X, w, iterations):
    for i in range(iterations):
        w = w - np.dot(((1.0 / (1.0 + np.exp(-Y * np.dot(X, w)))) - 1.0) * Y, X)
    return w


@ported(
    lambda r: (r.random((20, 24)),),
    changed={
        "@stencil": "b = np.zeros_like(a)",
        "return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])": (
            "b[1:-1, 1:-1] = 0.25 * (a[1:-1, 2:] + a[2:, 1:-1] + a[1:-1, :-2] + a[:-2, 1:-1])"
        ),
    },
)
def kernel1(a):
    b = np.zeros_like(a)
    b[1:-1, 1:-1] = 0.25 * (a[1:-1, 2:] + a[2:, 1:-1] + a[1:-1, :-2] + a[:-2, 1:-1])
    return b


@ported(lambda r: (10 * r.random((80, 2)), np.array([[1.0, 1.0], [5.0, 8.0], [9.0, 3.0]]), 5))
def kmeans(A, centroids, num_iter):
    N, D = A.shape
    num_centroid = centroids.shape[0]
    for _ in range(num_iter):
        dist = np.array(
            [
                [math.sqrt(np.sum((A[i, :] - centroids[j, :]) ** 2)) for j in range(num_centroid)]
                for i in range(N)
            ]
        )
        labels = np.array([dist[i, :].argmin() for i in range(N)])
        centroids = np.array(
            [
                [np.sum(A[labels == i, j]) / np.sum(labels == i) for j in range(D)]
                for i in range(num_centroid)
            ]
        )
    return centroids


def calc_pi_instead(n, points):
    acc = 0
    for i in range(n):
        x = points[i, 0]
        y = points[i, 1]
        if (x**2 + y**2) < 1.0:
            acc += 1
    return 4.0 * acc / n


@ported(
    lambda r: (500,),
    refused="PO0150",
    hint="draw them before the call, and pass the array",
    instead=(calc_pi_instead, lambda r: (500, r.random((500, 2)))),
)
def calc_pi(n):
    acc = 0
    for i in range(n):
        x = np.random.random()
        y = np.random.random()
        if (x**2 + y**2) < 1.0:
            acc += 1
    return 4.0 * acc / n


def count_instead(codes, kinds):
    count = np.zeros(kinds, np.int64)
    for code in codes:
        count[code] += 1
    return count


@ported(
    lambda r: (r.integers(0, 5, 30), 5),
    refused="PO0115",
    hint="use an array, or texts",
    instead=(count_instead, lambda r: (r.integers(0, 5, 30), 5)),
)
def count_in_a_typed_dict(codes, kinds):
    d = {}
    for code in codes:
        d[code] = d.get(code, 0) + 1
    return d


class Particles:
    """What a `jitclass` holds: arrays and numbers."""

    def __init__(self, position, velocity, mass):
        self.position = position
        self.velocity = velocity
        self.mass = mass


@ported(lambda r: (Particles(r.random((12, 3)), np.zeros((12, 3)), 1 + r.random(12)), 0.01, 3))
def advance(bodies, dt, steps):
    n = len(bodies.mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = bodies.position[i] - bodies.position[j]
                d2 = np.sum(dx * dx) + 0.01
                mag = dt / (d2 * np.sqrt(d2))
                bodies.velocity[i] -= dx * bodies.mass[j] * mag
                bodies.velocity[j] += dx * bodies.mass[i] * mag
        for i in range(n):
            bodies.position[i] += dt * bodies.velocity[i]
    return bodies.position.sum()


@ported(lambda r: (r.integers(0, 4, 31), r.integers(0, 4, 27), 2, 3))
def smith_waterman(a, b, match, gap):
    h = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            score = match if a[i - 1] == b[j - 1] else -match
            h[i, j] = max(0, h[i - 1, j - 1] + score, h[i - 1, j] - gap, h[i, j - 1] - gap)
            best = max(best, h[i, j])
    return best


@ported(lambda r: (r.random((9, 40)), r.random((40, 12)), np.zeros((9, 12))))
def gufunc_matmul(A, B, C):
    m, n = A.shape
    n, p = B.shape
    for i in range(m):
        for j in range(p):
            C[i, j] = 0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@ported(lambda r: (27,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@ported(lambda r: (200,))
def sieve(n):
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]
