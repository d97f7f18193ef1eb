"""The programs of the cookbook: each is small enough to be drawn."""

from __future__ import annotations

import numpy as np

import polyopt as po


def double(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2.0 * A[i, j]


def square(A: po.f64["4,4"], B: po.f64["4,4"]):
    for i in range(4):
        for j in range(4):
            B[i, j] = A[i, j] * A[i, j]


def follow_up(A: po.f64["N"], B: po.f64["N"], C: po.f64["N"]):
    for i in range(A.shape[0]):
        B[i] = 2.0 * A[i]
    for i in range(A.shape[0] - 1):
        C[i] = B[i] + B[i + 1]


def sweep(A: po.f64["N,M"]):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i - 1, j] + A[i, j - 1]


def heat(u: po.f64["T,N"]):
    for t in range(u.shape[0] - 1):
        for i in range(1, u.shape[1] - 1):
            u[t + 1, i] = u[t, i - 1] + u[t, i] + u[t, i + 1]


def jacobi(steps: int, A: po.f64["N"], B: po.f64["N"]):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]


def chain(A: po.f64["N"], B: po.f64["N"], C: po.f64["N"]):
    for i in range(A.shape[0]):
        B[i] = 2.0 * A[i]
    for i in range(A.shape[0]):
        C[i] = B[i] + 1.0


def lines(A: po.f64["N"], B: po.f64["N"], C: po.f64["N"], D: po.f64["N"]):
    for i in range(A.shape[0]):
        B[i] = 2.0 * A[i]
    for i in range(A.shape[0]):
        C[i] = A[i] + 1.0
    for i in range(A.shape[0]):
        D[i] = B[i] * C[i]


def pair(A: po.f64["N"], B: po.f64["N"], C: po.f64["N"]):
    for i in range(A.shape[0]):
        B[i] = 2.0 * A[i]
        C[i] = A[i] + 1.0


def follow(A: po.f64["N"], B: po.f64["N"]):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] + 1.0
        B[i] = 2.0 * A[i]


def columns(A: po.f64["N,M"], total: po.f64["N"]):
    for i in range(A.shape[0]):
        total[i] = 0.0
        for j in range(A.shape[1]):
            total[i] += A[i, j]


def triangle(A: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"]):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= A[i, j] * x[j]
        y[i] = 2.0 * x[i]


def rows(A: po.f64["N,M"], B: po.f64["N,M"], s: po.f64["M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[j] = 2.0 * A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = s[j] + s[A.shape[1] - 1 - j]


def blur(A: po.f64["N,M"], B: po.f64["N,M"]):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = 2.0 * A[i, j]
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = T[i - 1, j] + T[i, j]


def gram(A: po.f64["N,M"]):
    return A.T @ A


def mirror(A: po.f64["N,M"], B: po.f64["N,M"]):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = 2.0 * A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = T[i, j] + T[i, A.shape[1] - 1 - j]


def pivot(A: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += A[3, j]


def paths(D: po.f64["N,N"]):
    for k in range(D.shape[0]):
        for i in range(k):
            for j in range(k):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])


def product(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def walk(A: po.f64["N,M"], B: po.f64["M,N"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = 2.0 * A[i, j]


def softmax(A: po.f64["N,M"]):
    w = np.exp(A - np.max(A, axis=1, keepdims=True))
    return w / np.sum(w, axis=1, keepdims=True)


def total(A: po.f64["N"], s: po.f64["1"]):
    for i in range(A.shape[0]):
        s[0] += A[i]


def row_sums(A: po.f64["N,8"], s: po.f64["N"]):
    for i in range(A.shape[0]):
        for j in range(8):
            s[i] += A[i, j]


def count(bins: po.i64["N"], found: po.i64["M"]):
    for i in range(bins.shape[0]):
        found[bins[i]] += 1


def running(A: po.i64["N,M"], S: po.i64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            S[i, j] = S[i, j - 1] + A[i, j]
