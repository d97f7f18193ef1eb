"""Steps that update what is left of a matrix: blocks, columns, closures, intervals."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def pivots(A: po.f64["N,N"]):
    n = A.shape[0]
    for step in range(n):
        for row in range(step + 1, n):
            A[row, step] = A[row, step] / A[step, step]
            for column in range(step + 1, n):
                A[row, column] -= A[row, step] * A[step, column]


def many_right_sides(U: po.f32["K,K"], B: po.f32["K,R"]):
    for j in range(U.shape[0] - 1, -1, -1):
        B[j] /= U[j, j]
        for i in range(j):
            B[i] -= U[i, j] * B[j]


def symmetric(S: po.f64["D,D"]):
    d = S.shape[0]
    for j in range(d):
        for k in range(j):
            S[j, j] -= S[j, k] * S[j, k] * S[k, k]
        for i in range(j + 1, d):
            for k in range(j):
                S[i, j] -= S[i, k] * S[j, k] * S[k, k]
            S[i, j] /= S[j, j]


def left_looking(Q: po.f64["N,M"], R: po.f64["M,M"]):
    rows, vectors = Q.shape
    for j in range(vectors):
        for k in range(j):
            for i in range(rows):
                R[k, j] += Q[i, k] * Q[i, j]
            for i in range(rows):
                Q[i, j] -= R[k, j] * Q[i, k]


def oblique(U: po.f32["T,C"], V: po.f32["T,C"], S: po.f32["C,C"]):
    for c in range(V.shape[1]):
        for done in range(c):
            for t in range(V.shape[0]):
                S[done, c] += U[t, done] * V[t, c]
            for t in range(V.shape[0]):
                V[t, c] -= S[done, c] * V[t, done]
                U[t, c] += U[t, done] * S[done, c]


def separated(X: po.f64["S,F"], gap: po.f64["F,F"]):
    for j in range(X.shape[1]):
        for k in range(j):
            gap[k, j] = np.max(np.abs(X[:, j] - X[:, k]))
            X[:, j] += X[:, k] / (1.0 + gap[k, j])


def widest(B: po.f64["V,V"]):
    for k in range(B.shape[0]):
        B[:] = np.maximum(B, np.minimum.outer(B[:, k], B[k, :]))


def reachable(R: po.bool_["N,N"]):
    for k in range(R.shape[0]):
        R |= np.outer(R[:, k], R[k])


def reliable(P: po.f32["N,N"]):
    for via in range(P.shape[0]):
        P[:] = np.maximum(P, P[:, via, None] * P[via])


def search_tree(w: po.f64["N,N"], e: po.f64["N,N"]):
    n = w.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for r in range(i, j):
                e[i, j] = min(e[i, j], e[i, r] + e[r + 1, j])
            e[i, j] += w[i, j]


def brackets(N: po.i64["L,L"]):
    for i in range(N.shape[0] - 1, -1, -1):
        for j in range(i + 1, N.shape[0]):
            for k in range(i, j):
                N[i, j] += N[i, k] * N[k + 1, j]


def polygon(W: po.f32["V,V"], C: po.f32["V,V"]):
    v = C.shape[0]
    for i in range(v - 1, -1, -1):
        for j in range(i + 2, v):
            for k in range(i + 1, j):
                C[i, j] = max(C[i, j], C[i, k] + C[k, j] + W[i, j])


def narrowest(D: po.f64["N,N"]):
    for first in range(D.shape[0] - 1, -1, -1):
        for last in range(first, D.shape[0]):
            for k in range(first + 1, last):
                D[first, last] = min(D[first, last], max(D[first, k], D[k, last]))


def _dominant(*arrays):
    square = next(a for a in arrays if a.ndim == 2 and a.shape[0] == a.shape[1])
    square += len(square) * np.eye(len(square), dtype=square.dtype)


def _without_growth(columns, sums):
    columns /= 10.0
    sums[:] = 0.0


def _without_growth_of_two(U, V, S):
    U /= 10.0
    _without_growth(V, S)


def _small(N):
    N[:] = N % 2


PROGRAMS = (
    HeldOut(pivots, ("blocked_factorization",), {"N": 83}, prepare=_dominant),
    HeldOut(many_right_sides, ("blocked_factorization",), {"K": 91, "R": 37}, prepare=_dominant),
    HeldOut(symmetric, ("blocked_factorization",), {"D": 77}, prepare=_dominant),
    HeldOut(left_looking, ("column_strips",), {"N": 23, "M": 39}, prepare=_without_growth),
    HeldOut(oblique, ("column_strips",), {"T": 31, "C": 43}, prepare=_without_growth_of_two),
    HeldOut(separated, ("column_strips",), {"S": 19, "F": 41}),
    HeldOut(widest, ("semiring_closure",), {"V": 75}),
    HeldOut(reachable, ("semiring_closure",), {"N": 67}),
    HeldOut(reliable, ("semiring_closure",), {"N": 81}),
    HeldOut(search_tree, ("intervals",), {"N": 71}),
    HeldOut(brackets, ("intervals",), {"L": 18}, prepare=_small),
    HeldOut(polygon, ("intervals",), {"V": 77}),
    HeldOut(narrowest, ("intervals",), {"N": 70}),
)
