"""Linear algebra of odd shapes: small, banded, triangular, weighted, with four indices."""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def horner(x, coefficients, out):
    for i in range(x.shape[0]):
        acc = 0.0
        for k in range(coefficients.shape[0]):
            acc = acc * x[i] + coefficients[k]
        out[i] = acc


def horner_data(rng, N, K):
    return {"x": rng.uniform(-1, 1, N), "coefficients": rng.random(K), "out": np.zeros(N)}


def batched_5x5(A, B, C):
    for b in range(A.shape[0]):
        for i in range(5):
            for j in range(5):
                acc = 0.0
                for k in range(5):
                    acc += A[b, i, k] * B[b, k, j]
                C[b, i, j] = acc


def batched_5x5_data(rng, N):
    shape = (N, 5, 5)
    return {"A": rng.random(shape), "B": rng.random(shape), "C": np.zeros(shape)}


def kronecker(A, B, out):
    out[:] = np.kron(A, B)


def kronecker_data(rng, N, M, P, Q):
    return {"A": rng.random((N, M)), "B": rng.random((P, Q)), "out": np.zeros((N * P, M * Q))}


def contraction(A, B, out):
    out[:] = np.einsum("ijkl,ljm->kim", A, B)


def contraction_data(rng, N, J, K, L, M):
    return {
        "A": rng.random((N, J, K, L)),
        "B": rng.random((L, J, M)),
        "out": np.zeros((K, N, M)),
    }


def weighted_normal(A, d, out):
    out[:] = A.T @ (d[:, None] * A)


def weighted_normal_data(rng, N, M):
    return {"A": rng.random((N, M)), "d": rng.random(N), "out": np.zeros((M, M))}


def transpose_update(A, B, alpha):
    A += alpha * B.T


def transpose_update_data(rng, N, M):
    return {"A": rng.random((N, M)), "B": rng.random((M, N)), "alpha": 0.3}


def rank_two_lower(A, x, y, alpha):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += alpha * (x[i] * y[j] + y[i] * x[j])


def rank_two_lower_data(rng, N):
    return {"A": rng.random((N, N)), "x": rng.random(N), "y": rng.random(N), "alpha": 0.7}


def banded_power(band, x, y, steps):
    N, W = band.shape
    for _ in range(steps):
        for i in range(N):
            acc = 0.0
            for k in range(W):
                acc += band[i, k] * x[i + k]
            y[i] = acc
        for i in range(N):
            x[i + 6] = y[i]


def banded_power_data(rng, N, W, steps):
    return {
        "band": rng.uniform(0, 2.0 / W, (N, W)),
        "x": rng.random(N + W - 1),
        "y": np.zeros(N),
        "steps": steps,
    }


def jacobi_residual(A, b, x, r, norms):
    N = A.shape[0]
    for t in range(norms.shape[0]):
        total = 0.0
        for i in range(N):
            acc = b[i]
            for j in range(N):
                acc -= A[i, j] * x[j]
            r[i] = acc
            total += acc * acc
        for i in range(N):
            x[i] += r[i] / A[i, i]
        norms[t] = np.sqrt(total)


def jacobi_residual_data(rng, N, steps):
    return {
        "A": rng.random((N, N)) + 0.6 * N * np.eye(N),
        "b": rng.random(N),
        "x": np.zeros(N),
        "r": np.zeros(N),
        "norms": np.zeros(steps),
    }


PROGRAMS = (
    Program(horner, horner_data, {"N": 2000003, "K": 41}, {"N": 9, "K": 5}, ("out",)),
    Program(batched_5x5, batched_5x5_data, {"N": 600011}, {"N": 3}, ("C",)),
    Program(
        kronecker,
        kronecker_data,
        {"N": 83, "M": 71, "P": 79, "Q": 53},
        {"N": 3, "M": 4, "P": 5, "Q": 2},
        ("out",),
        True,
    ),
    Program(
        contraction,
        contraction_data,
        {"N": 61, "J": 53, "K": 47, "L": 43, "M": 59},
        {"N": 3, "J": 4, "K": 5, "L": 2, "M": 6},
        ("out",),
        True,
    ),
    Program(
        weighted_normal,
        weighted_normal_data,
        {"N": 20011, "M": 211},
        {"N": 9, "M": 5},
        ("out",),
        True,
    ),
    Program(
        transpose_update,
        transpose_update_data,
        {"N": 3001, "M": 2503},
        {"N": 5, "M": 7},
        ("A",),
        True,
    ),
    Program(rank_two_lower, rank_two_lower_data, {"N": 6501}, {"N": 7}, ("A",)),
    Program(
        banded_power,
        banded_power_data,
        {"N": 200003, "W": 13, "steps": 10},
        {"N": 21, "W": 13, "steps": 3},
        ("x", "y"),
    ),
    Program(
        jacobi_residual,
        jacobi_residual_data,
        {"N": 1511, "steps": 60},
        {"N": 7, "steps": 3},
        ("x", "r", "norms"),
    ),
)
