"""Contractions: in tiles, with what begins and uses their results, of rows that loops make."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def attention_scores(Q: po.f32["H,S,D"], K: po.f32["H,T,D"], out: po.f32["H,S,T"]):
    for h in range(Q.shape[0]):
        for s in range(Q.shape[1]):
            for t in range(K.shape[1]):
                for d in range(Q.shape[2]):
                    out[h, s, t] += Q[h, s, d] * K[h, t, d]


def transfer(T: po.f64["A,B"], state: po.f64["B,C"]):
    return T.T.copy() @ (T @ state)


def nearest_cost(x: po.f64["P,D"], y: po.f64["R,D"]):
    cost = np.zeros((x.shape[0], y.shape[0]))
    for p in range(x.shape[0]):
        for d in range(x.shape[1]):
            for r in range(y.shape[0]):
                cost[p, r] += np.abs(x[p, d] - y[r, d])
    return cost


def gated(x: po.f32["T,D"], w: po.f32["D,E"], gate: po.f32["T,E"]):
    return np.maximum(x @ w, 0.0) * gate


def damped(A: po.f64["I,J"], B: po.f64["J,K"], C: po.f64["I,K"]):
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            C[i, k] *= 0.5
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            for j in range(A.shape[1]):
                C[i, k] += A[i, j] * B[j, k]
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            C[i, k] = C[i, k] / (1.0 + C[i, k] * C[i, k])


def batched_residual(a: po.f64["B,N,K"], b: po.f64["B,K,M"], target: po.f64["B,N,M"]):
    return (a @ b - target) ** 2


def filled(W: po.f64["K,M"], x: po.f64["A,B,K"], y: po.f64["A,B,M"]):
    row = np.zeros(W.shape[1])
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for m in range(W.shape[1]):
                row[m] = 0.0
                for k in range(W.shape[0]):
                    row[m] += x[a, b, k] * W[k, m]
            for m in range(W.shape[1]):
                y[a, b, m] = row[m] * row[m] - y[a, b, m]


def similarity(E: po.f32["V,D"]):
    return np.exp(E @ E.T / np.sqrt(np.float32(E.shape[1])))


def channel_moments(Z: po.f64["T,B,K"]):
    return Z.transpose(1, 2, 0) @ Z.transpose(1, 0, 2)


def normal_matrix(A: po.f64["N,M"], w: po.f64["N"], H: po.f64["M,M"]):
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = 0.0
            for n in range(A.shape[0]):
                H[i, j] += w[n] * (A[n, i] * A[n, j])
            H[i, j] /= 2.0


def back_substituted(L: po.f64["N,N"], A: po.f64["N,M"]):
    for i in range(A.shape[0]):
        A[i] = A[i] - L[i, :i] @ A[:i]


def smoothed(G: po.f32["R,S,P"], C: po.f32["P,Q"], H: po.f32["R,S,Q"]):
    for r in range(G.shape[0]):
        for s in range(G.shape[1]):
            H[r, s] = np.maximum(G[r, s] @ C, H[r, s])


def upper_product(U: po.f64["N,N"], X: po.f64["N,M"]):
    for i in range(U.shape[0]):
        X[i] = U[i, i:] @ X[i:]


def suffixes(W: po.f32["T,T"], V: po.f32["T,D"], out: po.f32["T,D"]):
    for t in range(W.shape[0]):
        out[t] = W[t, t:] @ V[t:]


def trailing(A: po.f64["N,N"], B: po.f64["N,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for k in range(A.shape[0] - i):
            for j in range(B.shape[1]):
                C[i, j] += A[i, i + k] * B[i + k, j]


def one_batch(x: po.f32["B,D"], W: po.f32["D,E"], out: po.f32["B,E"]):
    for b in range(x.shape[0]):
        for e in range(W.shape[1]):
            for d in range(x.shape[1]):
                out[b, e] += x[b, d] * W[d, e]


def projected(axes: po.f64["3,D"], points: po.f64["D,P"], moved: po.f64["3,P"]):
    moved[:] = axes @ points


def updated(K: po.f64["N,M"], errors: po.f64["R,M"], state: po.f64["R,N"]):
    state[:] = errors @ K.T


def recalled(query: po.f32["A,D"], keys: po.f32["M,D"], stored: po.f32["M,E"]):
    match = query @ keys.T * np.float32(4.0)
    share = np.exp(match - match.max(axis=1, keepdims=True))
    return share @ stored / share.sum(axis=1, keepdims=True)


def softened(cost: po.f64["B,N,K"], way: po.f64["B,K,M"], gain: po.f64["B,M,P"]):
    worth = cost @ way
    chance = np.exp2(worth - np.max(worth, axis=2, keepdims=True))
    total = np.sum(chance, axis=2, keepdims=True)
    return (chance / total) @ gain


def expected(x: po.f64["N,D"], centre: po.f64["K,D"], height: po.f64["K,2"]):
    near = x @ centre.T - 0.5 * np.sum(centre * centre, axis=1)
    weight = np.exp(near - np.max(near, axis=1)[:, None])
    return weight @ height, np.sum(weight, axis=1)


PROGRAMS = (
    HeldOut(recalled, ("online_sums",), {"A": 37, "M": 53, "D": 19, "E": 23}),
    HeldOut(softened, ("online_sums",), {"B": 3, "N": 21, "K": 25, "M": 39, "P": 17}),
    HeldOut(expected, ("online_sums",), {"N": 41, "D": 17, "K": 51}),
    HeldOut(similarity, ("mirrored_sums",), {"V": 61, "D": 19}),
    HeldOut(channel_moments, ("mirrored_sums",), {"T": 23, "B": 3, "K": 37}),
    HeldOut(normal_matrix, ("mirrored_sums",), {"N": 29, "M": 53}),
    HeldOut(one_batch, ("contraction", "narrow_contraction"), {"B": 4, "D": 43, "E": 57}),
    HeldOut(projected, ("narrow_contraction",), {"D": 23, "P": 91}),
    HeldOut(updated, ("contraction", "narrow_contraction"), {"N": 35, "M": 47, "R": 3}),
    HeldOut(attention_scores, ("contraction",), {"H": 3, "S": 37, "T": 41, "D": 19}),
    HeldOut(transfer, ("contraction",), {"A": 33, "B": 45, "C": 51}),
    HeldOut(nearest_cost, ("contraction",), {"P": 39, "R": 43, "D": 17}),
    HeldOut(gated, ("contraction", "epilogues"), {"T": 37, "D": 29, "E": 53}),
    HeldOut(damped, ("contraction", "epilogues"), {"I": 35, "J": 27, "K": 61}),
    HeldOut(batched_residual, ("contraction", "epilogues"), {"B": 3, "N": 21, "K": 25, "M": 39}),
    HeldOut(filled, ("row_expansion",), {"A": 5, "B": 9, "K": 21, "M": 47}),
    HeldOut(
        back_substituted,
        ("blocked_factorization", "row_expansion"),
        {"N": 37, "M": 41},
        fp="strict",
    ),
    HeldOut(smoothed, ("row_expansion",), {"R": 5, "S": 13, "P": 19, "Q": 37}),
    HeldOut(upper_product, ("reduction_skewing",), {"N": 43, "M": 39}),
    HeldOut(suffixes, ("reduction_skewing",), {"T": 41, "D": 33}),
    HeldOut(trailing, ("reduction_skewing",), {"N": 45, "M": 37}),
)
