"""Small programs in the style of numerical NumPy code; each is checked against Python itself.

`PROGRAMS` pairs a function with a maker of its arguments from a size and a generator; `least` is
the smallest size Python itself accepts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Maker = Callable[[int, np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One program and its arguments at size n."""

    func: Callable[..., Any]
    make: Maker
    least: int = 0


PROGRAMS: list[Case] = []


def case(make: Maker, least: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(func: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Case(func, make, least))
        return func

    return add


def vec(n, r):
    return (r.standard_normal(n),)


def vec2(n, r):
    return (r.standard_normal(n), r.standard_normal(n))


def mat(n, r):
    return (r.standard_normal((n, n + 2)),)


def square(n, r):
    return (r.standard_normal((n, n)),)


def square2(n, r):
    return (r.standard_normal((n, n)), r.standard_normal((n, n)))


WEIGHTS = np.array([0.25, 0.5, 0.25])
DT = 0.01
GRAVITY = np.float32(9.81)


# -- linear algebra -----------------------------------------------------------------------------


@case(lambda n, r: (1.5, *square2(n, r), r.standard_normal((n, n))))
def axpby(alpha, A, B, C):
    C[:] = alpha * A + (1 - alpha) * B


@case(lambda n, r: (r.standard_normal((n, n + 1)), r.standard_normal((n + 1, 3))))
def product(A, B):
    return A @ B


@case(lambda n, r: (r.standard_normal((n, n)), r.standard_normal(n)))
def power_iteration(A, x):
    for _ in range(3):
        y = A @ x
        norm = np.sqrt(np.sum(y * y)) + 1e-9
        x[:] = y / norm
    return x @ (A @ x)


@case(lambda n, r: (np.tril(r.standard_normal((n, n))) + 4 * np.eye(n), r.standard_normal(n)))
def forward_substitution(L, b):
    n = L.shape[0]
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    return x


@case(lambda n, r: (np.triu(r.standard_normal((n, n))) + 4 * np.eye(n), r.standard_normal(n)))
def back_substitution(U, b):
    n = len(b)
    x = b.copy()
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@case(lambda n, r: (r.standard_normal((n, n)) + 6 * np.eye(n), r.standard_normal(n)))
def jacobi_solver(A, b):
    n = A.shape[0]
    x = np.zeros_like(b)
    for _ in range(4):
        new = np.empty(n)
        for i in range(n):
            total = 0.0
            for j in range(n):
                if j != i:
                    total += A[i, j] * x[j]
            new[i] = (b[i] - total) / A[i, i]
        x = new
    return x


@case(square2)
def commutator(A, B):
    return A @ B - B @ A


@case(square2)
def in_place_product(A, B):
    A[:] = A @ B
    B[...] = A.T @ B + B


@case(lambda n, r: (r.standard_normal((n, n + 1)), r.standard_normal((n, n + 1))))
def gram(A, B):
    G = A.T @ B
    return G, np.outer(A[:, 0], B[:, 0]), np.inner(A, B)


@case(lambda n, r: (r.standard_normal((3, n, 4)), r.standard_normal((3, 4, n))))
def batched(A, B):
    return np.matmul(A, B)


@case(lambda n, r: (r.standard_normal((n, 3)), r.standard_normal((2, 3, n))))
def dot_of_stacks(A, B):
    return np.dot(A, B)


@case(lambda n, r: (r.standard_normal((n, n)) + 5 * np.eye(n),))
def gauss(A):
    n = len(A)
    for k in range(n):
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            A[i, k] = f


@case(lambda n, r: (np.cov(r.standard_normal((n + 1, 2 * n + 4))) + np.eye(n + 1),))
def cholesky(A):
    n = A.shape[0]
    L = np.zeros((n, n))
    for j in range(n):
        L[j, j] = math.sqrt(A[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return L


@case(lambda n, r: (r.standard_normal((n, n)),))
def symmetrize(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = 0.5 * (A[i, j] + A[j, i])
            A[j, i] = A[i, j]


@case(square)
def antisymmetric(A):
    A[:] = A - A.T


# -- stencils -----------------------------------------------------------------------------------


@case(lambda n, r: (3, *vec2(n, r)))
def heat_1d(steps, u, v):
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[1:-1] = v[1:-1]


@case(lambda n, r: (r.standard_normal((n + 1, n + 2)), 2))
def laplace(u, steps: int):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


@case(lambda n, r: (r.standard_normal(n), 3))
def ping_pong(u, steps):
    a = u.copy()
    b = np.zeros_like(u)
    for _ in range(steps):
        b[1:-1] = WEIGHTS[0] * a[:-2] + WEIGHTS[1] * a[1:-1] + WEIGHTS[2] * a[2:]
        a, b = b, a
    return a


@case(lambda n, r: (r.standard_normal(n + 1), 0.3))
def upwind(u, c):
    n = u.size
    for _t in range(3):
        un = u.copy()
        for i in range(1, n):
            u[i] = un[i] - c * (un[i] - un[i - 1])
        u[0] = un[0] - c * (un[0] - un[-1])


@case(vec)
def periodic(u):
    n = len(u)
    out = np.empty(n)
    for i in range(n):
        out[i] = u[i - 1] + 2 * u[i]
    return out


@case(lambda n, r: (r.standard_normal((n, n)),))
def game_neighbours(A):
    N = np.zeros(A.shape)
    N[1:-1, 1:-1] += A[:-2, :-2] + A[:-2, 1:-1] + A[:-2, 2:]
    N[1:-1, 1:-1] += A[1:-1, :-2] + A[1:-1, 2:]
    N[1:-1, 1:-1] += A[2:, :-2] + A[2:, 1:-1] + A[2:, 2:]
    return N


@case(mat)
def image_blur(image):
    out = image.copy()
    out[1:-1, 1:-1] = (
        image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:]
        + 2 * image[1:-1, :-2] + 4 * image[1:-1, 1:-1] + 2 * image[1:-1, 2:]
        + image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]
    ) / 16.0  # fmt: skip
    return out


@case(lambda n, r: (r.standard_normal((n + 2, n + 3)),))
def sobel(image):
    gx = image[:-2, 2:] - image[:-2, :-2] + 2 * (image[1:-1, 2:] - image[1:-1, :-2])
    gy = image[2:, 1:-1] - image[:-2, 1:-1]
    return np.hypot(gx, gy)


@case(lambda n, r: (r.standard_normal((n + 3, n + 3)), r.standard_normal((3, 3))))
def convolution(image, kernel):
    h, w = image.shape
    kh, kw = kernel.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(h - kh + 1):
        for j in range(w - kw + 1):
            for p in range(kh):
                for q in range(kw):
                    out[i, j] += image[i + p, j + q] * kernel[p, q]
    return out


@case(lambda n, r: (r.standard_normal((n, n)), 2))
def red_black(u, steps):
    n = u.shape[0]
    for _ in range(steps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    if (i + j) % 2 == colour:
                        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@case(
    lambda n, r: (r.standard_normal((n, n)), r.standard_normal((n, n)), r.standard_normal((n, n)))
)
def divergence(u, v, p):
    dx = 2.0 / (u.shape[0] + 1)
    b = np.zeros_like(p)
    b[1:-1, 1:-1] = (u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (
        2 * dx
    )
    return b


@case(lambda n, r: (r.standard_normal(2 * n + 1),))
def multigrid_restrict(fine):
    coarse = fine[::2].copy()
    coarse[1:-1] = 0.25 * fine[1:-2:2] + 0.5 * fine[2:-1:2] + 0.25 * fine[3::2]
    return coarse


# -- in place and aliasing ----------------------------------------------------------------------


@case(vec)
def shift_right(x):
    x[1:] = x[:-1]


@case(vec)
def shift_left(x):
    x[:-1] = x[1:]


@case(mat)
def shift_diagonal(A):
    A[1:, 1:] = A[:-1, :-1] + A[1:, :-1]


@case(vec)
def reverse_in_place(x):
    x[:] = x[::-1]


@case(square)
def transpose_in_place(A):
    A[:] = A.T


@case(vec)
def view_writes(x):
    inner = x[1:-1]
    inner *= 2.0
    tail = inner[::-1]
    tail[0:1] = 7.0
    return inner.sum()


@case(vec)
def accumulate_in_place(x):
    x += x[::-1]
    x[::2] -= 1.0


@case(mat)
def rows_added(A):
    A[1:] += A[:-1]
    A[:, 0] = A[:, -1]


@case(vec)
def prefix_sum(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]


@case(vec)
def backwards(x):
    n = x.shape[0]
    for i in range(n - 2, -1, -1):
        x[i] = 0.5 * x[i + 1] + x[i]


@case(lambda n, r: (r.standard_normal((n, 3)),), 1)
def swap_rows(A):
    first = A[0].copy()
    A[0] = A[-1]
    A[-1] = first


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


# -- loops and control --------------------------------------------------------------------------


@case(square)
def triangular(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            for k in range(j, i):
                A[i, j] += A[k, j] * 0.5


@case(vec)
def steps(x):
    for i in range(0, len(x), 2):
        x[i] = 0.0
    for i in range(len(x) - 1, 0, -3):
        x[i] += i


@case(vec)
def continued(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total += math.sqrt(v)
    return total


@case(vec)
def early_return(x):
    if len(x) < 2:
        return x * 0
    y = x.copy()
    y[0] = 1.0
    return y


@case(lambda n, r: (r.standard_normal(n), True, None))
def flags(x, negate=False, scale=None):
    y = -x if negate else x
    if scale is not None:
        y = y * scale
    return y


@case(vec2)
def enumerated(x, y):
    for i, (a, b) in enumerate(zip(x, y)):  # noqa: B905
        y[i] = a * b + i


@case(mat)
def rows_of(A):
    total = np.zeros(A.shape[1])
    for row in A:
        total += row
    return total


def _scaled(v, factor=2.0):
    """Called by others."""
    return v * factor


def _norm2(v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i]
    return s


def _set_border(A, value):
    A[0] = value
    A[-1] = value
    A[:, 0] = value
    A[:, -1] = value


@case(vec)
def inlined(x):
    return _norm2(_scaled(x)) + _norm2(_scaled(x, factor=0.5))


@case(square, 1)
def inlined_in_place(A):
    _set_border(A, 1.5)
    _set_border(A[1:, 1:], 2.5) if False else None
    A *= 2


@case(vec)
def rebinding(x):
    x = x * 2
    for _ in range(3):
        x = x + 0.1 * np.abs(x)
    return x


@case(lambda n, r: (r.standard_normal(n), 4))
def runge_kutta(y, steps):
    h = 0.1
    for _ in range(steps):
        k1 = -y
        k2 = -(y + 0.5 * h * k1)
        y = y + h * 0.5 * (k1 + k2)
    return y


@case(lambda n, r: (n, 2.0))
def built_from_nothing(n, value):
    A = np.full((n, n + 1), value)
    for i in range(n):
        for j in range(n + 1):
            A[i, j] += i * 10 + j
    return A, np.arange(n), np.eye(n), np.ones((n, 2), dtype=np.int32), np.linspace(0, 1, n)


@case(lambda n, r: (r.standard_normal(n), 0.5))
def horner(x, a):
    y = np.zeros_like(x)
    for c in (1.0, -2.0, 3.5, 0.25):
        y = y * x + c
    return y * a


@case(mat)
def shapes(A):
    n, m = A.shape
    B = np.zeros((m, n))
    B[:] = A.T
    B[:, ::-1] += 1.0
    return B, A.ndim, len(A), A.size, A[..., 0] * n, A[None, :, 1:]


@case(vec)
def negative_slices(x):
    return (
        x[-2:] * 1,
        x[:-2] + x[2:],
        x[::-1] - x,
        x[-1:0:-1] * 2,
        x[::-2] + 0,
        x[1::3] * 2,
        x[:3] + 1,
    )


@case(lambda n, r: (r.standard_normal(n + 5), 3))
def moving_average(x, width):
    n = len(x) - width + 1
    out = np.empty(n)
    for i in range(n):
        out[i] = np.mean(x[i : i + width])
    return out


@case(lambda n, r: (r.standard_normal((n, n)), r.standard_normal((n, n))))
def floyd(D, W):
    n = D.shape[0]
    for k in range(n):
        D[:] = np.minimum(D, D[:, k, None] + D[k])
    for i in range(n):
        W[i, i] = 0


@case(lambda n, r: (r.standard_normal(n + 1), r.standard_normal(n), r.standard_normal(n)))
def thomas(b, c, d):
    n = len(d)
    for i in range(1, n):
        w = c[i - 1] / (b[i - 1] + 3)
        b[i] = b[i] - w * c[i]
        d[i] -= w * d[i - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / (b[i] + 5)


@case(lambda n, r: (r.standard_normal((2, n + 2, n + 2, 3)), r.standard_normal((3, 3, 3, 4))))
def conv2d_nhwc(x, w):
    b, h, wd, cin = x.shape
    kh, kw, _, cout = w.shape
    out = np.zeros((b, h - kh + 1, wd - kw + 1, cout))
    for i in range(h - kh + 1):
        for j in range(wd - kw + 1):
            out[:, i, j, :] = np.sum(
                x[:, i : i + kh, j : j + kw, :, None] * w[None, :, :, :, :], axis=(1, 2, 3)
            )
    return out


@case(lambda n, r: (r.standard_normal(n), r.standard_normal(n), 3))
def swapped_arguments(u, v, steps):
    for _ in range(steps):
        v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
        u, v = v, u
    return u.sum()


@case(lambda n, r: (*vec2(n, r), r.standard_normal(n), 4))
def wave(past, now, new, steps):
    for _ in range(steps):
        new[1:-1] = 2 * now[1:-1] - past[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        past, now, new = now, new, past
    return now


@case(square)
def torus(grid):
    N = grid.shape[0]
    new = grid.copy()
    for i in range(N):
        for j in range(N):
            around = grid[i, (j - 1) % N] + grid[i, (j + 1) % N]
            around += grid[(i - 1) % N, j] + grid[(i + 1) % N, j]
            new[i, j] = 1 if around > 2 else 0
    grid[:] = new


@case(lambda n, r: (-2.0, 0.5, n, n + 1, 5))
def mandelbrot(low, high, width, height, steps):
    x = np.linspace(low, high, width)
    y = np.linspace(-1.25, 1.25, height)
    C = x + y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(steps):
        inside = np.less(abs(Z), 2.0)
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[steps - 1 == N] = 0
    return Z, N


@case(lambda n, r: (r.standard_normal(n),))
def durbin(r):
    y = np.zeros_like(r)
    alpha = 0.1
    beta = 1.0
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(vec)
def sort_by_exchange(x):
    n = len(x)
    for i in range(n):
        for j in range(0, n - i - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]


@case(lambda n, r: (r.standard_normal(n), r.standard_normal(2 * n + 3)))
def counted(x, out):
    k = 0
    j = 2 * len(x)
    for i in range(len(x)):
        out[k] = x[i]
        k += 2
        out[k - 1] = x[i] * 0.5
        j -= 1
        out[j + 2] += 1.0
    out[k] = 7.0
    return k


@case(lambda n, r: (r.standard_normal((n + 4, n + 5)), r.standard_normal((n, n + 1))))
def cropped(wide, out):
    I, J = out.shape
    lap = wide[1 : I + 3, 1 : J + 3] * 4.0 - wide[2 : I + 4, 1 : J + 3]
    flux = lap[1:, 1 : J + 1] - lap[:-1, 1 : J + 1]
    out[:, :] = wide[2 : I + 2, 2 : J + 2] - (flux[1:] - flux[:-1])
