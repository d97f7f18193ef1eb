"""Loops around short loops and around sums along rows that are read again."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def radial_basis(X: po.f64["B,T,D"], C: po.f64["K,D"], w: po.f64["K"], y: po.f64["B,T"]):
    for b in range(X.shape[0]):
        for t in range(X.shape[1]):
            s = 0.0
            for k in range(C.shape[0]):
                d = 0.0
                for q in range(X.shape[2]):
                    d += (X[b, t, q] - C[k, q]) ** 2
                s += w[k] * np.exp(-d)
            y[b, t] = s


def soft_assignment(P: po.f32["N,D"], Q: po.f32["K,D"]):
    apart = np.abs(P[:, None, :] - Q[None, :, :])
    near = 1.0 / (1.0 + np.sum(apart * apart * apart, axis=2))
    return near / np.sum(near, axis=1, keepdims=True)


def small_factors(L: po.f64["N,6,6"]):
    for n in range(L.shape[0]):
        for i in range(6):
            for j in range(i):
                for k in range(j):
                    L[n, i, j] -= L[n, i, k] * L[n, j, k]
                L[n, i, j] /= L[n, j, j]
            for k in range(i):
                L[n, i, i] -= L[n, i, k] * L[n, i, k]
            L[n, i, i] = np.sqrt(L[n, i, i])


def jacobians(F: po.f64["N,5,6"], G: po.f64["N,6,5"], out: po.f64["N,5,5"]):
    for n in range(F.shape[0]):
        for i in range(5):
            for j in range(5):
                for k in range(6):
                    out[n, i, j] += F[n, i, k] * G[n, k, j]


def _positive(L):
    L += L.transpose(0, 2, 1) + 16 * np.eye(6)


PROGRAMS = (
    HeldOut(radial_basis, ("transposed_lanes",), {"B": 2, "T": 27, "K": 7, "D": 3}),
    HeldOut(soft_assignment, ("transposed_lanes",), {"N": 45, "K": 5, "D": 6}),
    HeldOut(small_factors, ("transposed_lanes",), {"N": 11}, fp="strict", prepare=_positive),
    HeldOut(jacobians, ("transposed_lanes",), {"N": 13}, fp="strict"),
)
