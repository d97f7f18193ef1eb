"""Programs whose explanations are known."""
# ruff: noqa: F821

import numpy as np

import polyopt as po


def smooth(u, n: int):
    for i in range(1, n):
        u[i] = 0.5 * (u[i - 1] + u[i])


def sweep(u: po.f64["T+1,N"], T: int):
    for t in range(T):
        for i in range(1, u.shape[1] - 1):
            u[t + 1, i] = u[t, i] + 0.1 * (u[t, i - 1] + u[t, i + 1])


def chain(a: po.f64["N"], b: po.f64["N"], c: po.f64["N"]):
    for i in range(1, a.shape[0]):
        a[i] = 2 * b[i]
    for j in range(1, a.shape[0]):
        c[j] = a[j] + a[j - 1]
    for k in range(1, a.shape[0] - 1):
        b[k] = c[k + 1]


def train(w: po.f64["D"], x: po.f64["N,D"], y: po.f64["N"], epochs: int):
    for _epoch in range(epochs):
        error = x @ w - y
        w -= 0.01 * (error @ x)


def search(x: po.f64["N"], tolerance: float):
    while np.sum(x) > tolerance:
        x *= 0.5


def escaped(x: po.f64["N"]):
    for i in range(x.shape[0]):
        x[i] = x[i] if x[i] < 1.0 else 2.0 * x[i]


def scatter(x: po.f64["N"], p: po.i64["N"], y: po.f64["N"]):
    for i in range(x.shape[0]):
        x[p[i]] = y[i] + x[p[i]] * 0.5


def solved(a: po.f64["N,N"], b: po.f64["N"]):
    return np.linalg.solve(a, b)


def dot(x: po.f64["N"], y: po.f64["N"]):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


def doubled(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2.0 * A[i, j]
