"""Programs of linear algebra."""

from __future__ import annotations

import math

import numpy as np

from tests.unit.frontend.corpus import case, square, square2


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
