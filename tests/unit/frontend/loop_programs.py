"""Programs of loops, early ends, calls and rebound names."""

from __future__ import annotations

import math

import numpy as np

from tests.unit.frontend.corpus import case, mat, square, vec, vec2


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
