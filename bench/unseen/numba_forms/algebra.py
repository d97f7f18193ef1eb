"""Linear algebra of odd shapes in loops for Numba."""

from __future__ import annotations

from math import sqrt

from numba import prange


def horner(x, coefficients, out):
    for i in prange(x.shape[0]):
        acc = 0.0
        for k in range(coefficients.shape[0]):
            acc = acc * x[i] + coefficients[k]
        out[i] = acc


def batched_5x5(A, B, C):
    for b in prange(A.shape[0]):
        for i in range(5):
            for j in range(5):
                acc = 0.0
                for k in range(5):
                    acc += A[b, i, k] * B[b, k, j]
                C[b, i, j] = acc


def kronecker(A, B, out):
    N, M = A.shape
    P, Q = B.shape
    for i in prange(N):
        for p in range(P):
            for j in range(M):
                for q in range(Q):
                    out[i * P + p, j * Q + q] = A[i, j] * B[p, q]


def contraction(A, B, out):
    N, J, K, L = A.shape
    M = B.shape[2]
    for k in prange(K):
        for i in range(N):
            for m in range(M):
                out[k, i, m] = 0.0
            for j in range(J):
                for l in range(L):
                    a = A[i, j, k, l]
                    for m in range(M):
                        out[k, i, m] += a * B[l, j, m]


def weighted_normal(A, d, out):
    N, M = A.shape
    for i in prange(M):
        for j in range(M):
            out[i, j] = 0.0
        for n in range(N):
            a = A[n, i] * d[n]
            for j in range(M):
                out[i, j] += a * A[n, j]


def transpose_update(A, B, alpha):
    for i in prange(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += alpha * B[j, i]


def rank_two_lower(A, x, y, alpha):
    for i in prange(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += alpha * (x[i] * y[j] + y[i] * x[j])


def banded_power(band, x, y, steps):
    N, W = band.shape
    for _ in range(steps):
        for i in prange(N):
            acc = 0.0
            for k in range(W):
                acc += band[i, k] * x[i + k]
            y[i] = acc
        for i in prange(N):
            x[i + 6] = y[i]


def jacobi_residual(A, b, x, r, norms):
    N = A.shape[0]
    for t in range(norms.shape[0]):
        total = 0.0
        for i in prange(N):
            acc = b[i]
            for j in range(N):
                acc -= A[i, j] * x[j]
            r[i] = acc
            total += acc * acc
        for i in range(N):
            x[i] += r[i] / A[i, i]
        norms[t] = sqrt(total)
