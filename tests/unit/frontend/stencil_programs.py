"""Programs of stencils, in place, with arrays of several names."""

from __future__ import annotations

import numpy as np

from tests.unit.frontend.corpus import case, mat, square, vec, vec2

WEIGHTS = np.array([0.25, 0.5, 0.25])


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


# -- in place and aliasing -----------------------------------------------------------------------


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
