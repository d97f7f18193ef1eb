"""Small programs of every shape of dependence, with the types of their arguments.

In: nothing.  Out: functions; `TYPES` says what each is called with.
"""

from __future__ import annotations

import numpy as np

TYPES = {
    "sweep": "f64[:,:]",
    "nine_points": "f64[:,:]",
    "heat_1d": "f64[:],f64[:],i64",
    "heat_2d": "f64[:,:],f64[:,:],i64",
    "wave": "f64[:,:],i64",
    "far": "f64[:,:]",
    "up_left": "f64[:,:]",
    "three_deep": "f64[:,:,:]",
    "running_sum": "f64[:]",
    "row_sums": "f64[:,:],f64[:]",
    "counts": "i64[:],i64[:]",
    "total": "i64[:],i64[:]",
    "dots": "f64[:,:],f64[:,:],f64[:]",
    "smooth": "f64[:],f64[:],f64[:]",
    "after_next": "f64[:],f64[:],f64[:]",
    "mirror": "f64[:],f64[:],f64[:]",
    "turned": "f64[:,:],f64[:,:],f64[:,:]",
    "late": "f64[:],f64[:],f64[:]",
    "overwritten": "f64[:],f64[:],f64[:]",
    "scratch": "f64[:],f64[:],f64[:]",
    "scratch_row": "f64[:,:],f64[:,:],f64[:]",
    "solve": "f64[:,:],f64[:]",
    "powers": "f64[:,:],f64",
    "columns": "f64[:,:]",
    "pairs": "f64[:],f64[:]",
    "largest": "f64[:],f64[:]",
    "elementwise": "f64[:,:],f64[:,:],f64[:,:]",
    "normalise": "f64[:,:],f64[:,:]",
    "backward": "f64[:,:]",
    "even": "f64[:]",
}


def sweep(a):
    n, m = a.shape
    for i in range(1, n):
        for j in range(1, m):
            a[i, j] = a[i - 1, j] + a[i, j - 1]


def nine_points(a):
    n, m = a.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            a[i, j] = a[i - 1, j + 1] + a[i, j - 1] + a[i + 1, j + 1] + a[i - 1, j - 1]


def heat_1d(a, b, steps):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            b[i] = a[i - 1] + a[i] + a[i + 1]
        for i in range(1, n - 1):
            a[i] = b[i]


def heat_2d(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = b[1:-1, 1:-1]


def wave(a, steps):
    n = a.shape[1]
    for t in range(1, steps):
        for i in range(1, n - 1):
            a[t, i] = a[t - 1, i - 1] + a[t - 1, i + 1]


def far(a):
    n, m = a.shape
    for i in range(2, n):
        for j in range(m - 5):
            a[i, j] = 0.5 * a[i - 2, j + 5]


def up_left(a):
    n, m = a.shape
    for i in range(1, n):
        for j in range(m - 1):
            a[i, j] = 2.0 * a[i - 1, j + 1] + 1.0


def three_deep(a):
    n, m, p = a.shape
    for i in range(1, n):
        for j in range(m - 1):
            for k in range(p - 2):
                a[i, j, k] = a[i - 1, j + 1, k + 2] + 1.0


def running_sum(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i] + a[i - 1]


def row_sums(a, s):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            s[i] += a[i, j]


def counts(a, s):
    for i in range(a.shape[0]):
        s[0] += a[i]
        s[1] |= a[i]


def total(a, s):
    for i in range(a.shape[0]):
        s[0] += a[i] * a[i]


def dots(a, b, s):
    n, m = a.shape
    for i in range(n):
        t = 0.0
        for j in range(m):
            t += a[i, j] * b[i, j]
        s[i] = t / 2.0


def smooth(a, b, c):
    n = a.shape[0]
    for i in range(n):
        b[i] = 2.0 * a[i]
    for i in range(1, n - 1):
        c[i] = b[i - 1] + b[i + 1]


def after_next(a, b, c):
    n = a.shape[0]
    for i in range(n):
        b[i] = a[i] * a[i]
    for i in range(n - 3):
        c[i] = b[i + 3]


def mirror(a, b, c):
    n = a.shape[0]
    for i in range(n):
        b[i] = a[i] + 1.0
    for i in range(n):
        c[i] = b[n - 1 - i]


def turned(a, b, c):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            b[i, j] = 2.0 * a[i, j]
    for i in range(n):
        for j in range(n):
            c[i, j] = b[j, i]


def late(a, b, c):
    for i in range(1, a.shape[0]):
        b[i] = 2.0 * a[i]
        c[i] = b[i - 1]


def overwritten(a, b, c):
    for i in range(1, a.shape[0]):
        c[i] = b[i - 1] + 1.0
        b[i] = 2.0 * a[i]


def scratch(a, b, t):
    for i in range(a.shape[0]):
        t[0] = a[i] + 1.0
        b[i] = t[0] * t[0]


def scratch_row(a, b, t):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            t[j] = a[i, j] + 1.0
        for j in range(m):
            b[i, j] = t[j] * t[m - 1 - j]


def solve(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]


def powers(a, x):
    n, m = a.shape
    for i in range(n):
        p = 1.0
        for j in range(m):
            p = p * x
            a[i, j] = a[i, j] * p


def columns(a):
    n, m = a.shape
    for j in range(m):
        for i in range(1, n):
            a[i, j] += a[i - 1, j]


def pairs(a, b):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            a[i] += b[j] * a[j]


def largest(a, m):
    for i in range(a.shape[0]):
        m[0] = max(m[0], a[i])


def elementwise(a, b, c):
    c[:] = np.exp(a) + b
    b[1:] = c[:-1] * a[1:]


def normalise(a, b):
    b[:] = a / a.sum(axis=0)
    a[1:, :] = b[:-1, :] - a[1:, :]


def backward(a):
    n, m = a.shape
    for i in range(n - 2, -1, -1):
        for j in range(1, m):
            a[i, j] = a[i + 1, j - 1] + 1.0


def even(a):
    for i in range(0, a.shape[0] - 2, 2):
        a[i + 2] = a[i] + a[i + 1]
