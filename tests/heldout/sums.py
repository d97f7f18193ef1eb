"""Sums: along rows and columns, whole, of windows, in passes with what makes and uses terms."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def scores(X: po.f32["N,M"], weight: po.f32["M"], out: po.f32["N"]):
    for n in range(X.shape[0]):
        for m in range(X.shape[1]):
            out[n] += X[n, m] * weight[m]


def moments(samples: po.f64["T,C"]):
    first = np.sum(samples, axis=0)
    return first / samples.shape[0]


def sum_of_distances(P: po.f64["N,D"], c: po.f64["D"], d: po.f64["N"]):
    for n in range(P.shape[0]):
        for k in range(P.shape[1]):
            d[n] += (P[n, k] - c[k]) * (P[n, k] - c[k])


def one_sweep(A: po.f64["N,M"], x: po.f64["M"], p: po.f64["N"]):
    return A @ x, p @ A


def residual_gradient(X: po.f32["T,D"], w: po.f32["D"], y: po.f32["T"]):
    return X.T @ (X @ w - y)


def sensor(H: po.f64["S,F"], f: po.f64["F"], b: po.f64["S"], out: po.f64["F"]):
    for s in range(H.shape[0]):
        r = 0.0
        for k in range(H.shape[1]):
            r += H[s, k] * f[k]
        for k in range(H.shape[1]):
            out[k] += H[s, k] * (b[s] - np.tanh(r))


def tempered(v: po.f64["A,B,C"], out: po.f64["A,B,C"], total: po.f64["C"]):
    for a in range(v.shape[0]):
        for b in range(v.shape[1]):
            for c in range(v.shape[2]):
                out[a, b, c] = v[a, b, c] * v[a, b, c] + 1.0
    for a in range(v.shape[0]):
        for b in range(v.shape[1]):
            for c in range(v.shape[2]):
                total[c] += v[a, b, c]


def shares(x: po.f32["B,T,F"]):
    return x / (1.0 + np.sum(x * x, axis=2, keepdims=True)), np.sum(x, axis=(0, 1))


def centred(x: po.f64["B,S,C"], shift: po.f64["C"]):
    moved = x - shift
    return moved, x.sum(axis=(0, 1))


def log_evidence(x: po.f64["N"], m: po.f64["N"]):
    e = np.exp(-x * x)
    return np.sum(e * m)


def norms(u: po.f32["N,M"], v: po.f32["N,M"]):
    return np.sum((u - v) ** 2), np.sum(u * v)


def count_above(x: po.f64["A,B,C"], limit: float):
    n = 0
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                if x[a, b, c] > limit:
                    n += 1
    return n


def cosine(a: po.f64["N,D"], b: po.f64["N,D"], out: po.f64["N"]):
    for n in range(a.shape[0]):
        dot = 0.0
        for d in range(a.shape[1]):
            dot += a[n, d] * b[n, d]
        out[n] = dot
        length = 0.0
        for d in range(a.shape[1]):
            length += a[n, d] * a[n, d]
        out[n] = out[n] / np.sqrt(length)


def two_terms(Q: po.f32["T,K"], g: po.f32["K"], h: po.f32["K"], u: po.f32["T"], v: po.f32["T"]):
    for t in range(Q.shape[0]):
        u[t] = 0.0
        for k in range(Q.shape[1]):
            u[t] += Q[t, k] * g[k]
        v[t] = 1.0
        for k in range(Q.shape[1]):
            v[t] += Q[t, k] * h[k]


def spread(x: po.f64["N,M"], low: po.f64["N"], high: po.f64["N"]):
    for n in range(x.shape[0]):
        low[n] = x[n, 0]
        for m in range(x.shape[1]):
            low[n] = min(low[n], x[n, m])
        high[n] = x[n, 0]
        for m in range(x.shape[1]):
            high[n] = max(high[n], x[n, m])
        low[n] = low[n] - high[n]


def activations(X: po.f64["N,D"], w: po.f64["D"], b: po.f64["N"]):
    return np.tanh((X * w[0]).sum(axis=1) + b)


def projected(X: po.f64["N,D"], w: po.f64["D"], b: po.f64["N"]):
    return np.tanh(X @ w + b)


def energies(S: po.f32["T,K"], beta: float, out: po.f32["T"]):
    for t in range(S.shape[0]):
        e = S[t, 0] * S[t, 0]
        for k in range(S.shape[1]):
            e += S[t, k] * S[t, k]
        out[t] = np.exp(-e)


def entropies(P: po.f64["B,T,V"]):
    return np.log1p(np.sum(P * P, axis=2))


def relative(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        largest = A[i, 0]
        total = 0.0
        for j in range(A.shape[1]):
            largest = max(largest, A[i, j])
            total += A[i, j] * A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = (largest - A[i, j]) / total


def normal_rows(W: po.f32["R,C"], out: po.f32["R,C"]):
    for r in range(W.shape[0]):
        total = np.float32(0.0)
        for c in range(W.shape[1]):
            total += W[r, c] * W[r, c]
        for c in range(W.shape[1]):
            out[r, c] = W[r, c] * total


def rows_and_means(x: po.f64["B,T,D"], y: po.f64["B,T,D"]):
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            mean = 0.0
            for d in range(x.shape[2]):
                mean += x[b, t, d]
            for d in range(x.shape[2]):
                y[b, t, d] = x[b, t, d] - mean / x.shape[2]


def channel_peak(x: po.f32["N,C,T"]):
    peak = np.max(np.abs(x), axis=(0, 2))
    return x / peak[None, :, None]


def step_energy(v: po.f64["T,K,X,Y"], out: po.f64["T,K,X,Y"]):
    energy = (v * v).sum(axis=(0, 2, 3))
    out[:] = v * energy[None, :, None, None]


def group_shift(x: po.f64["B,G,S,P"]):
    low = x.min(axis=(0, 2, 3), keepdims=True)
    return x - low


def correlate(image: po.f64["H+4,W+4"], kernel: po.f64["5,5"], out: po.f64["H,W"]):
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for a in range(5):
                for b in range(5):
                    out[y, x] += image[y + a, x + b] * kernel[a, b]


def filters(signal: po.f32["C,T+8"], taps: po.f32["F,C,9"], out: po.f32["F,T"]):
    for f in range(out.shape[0]):
        for t in range(out.shape[1]):
            for c in range(signal.shape[0]):
                for k in range(9):
                    out[f, t] += signal[c, t + k] * taps[f, c, k]


def volumes(v: po.f32["X+2,Y+2,Z+2"], w: po.f32["C,3,3,3"], out: po.f32["C,X,Y,Z"]):
    for c in range(out.shape[0]):
        for x in range(out.shape[1]):
            for y in range(out.shape[2]):
                for z in range(out.shape[3]):
                    for i in range(3):
                        for j in range(3):
                            for k in range(3):
                                out[c, x, y, z] += v[x + i, y + j, z + k] * w[c, i, j, k]


def attraction(x: po.f64["N"], y: po.f64["N"], q: po.f64["N"], reach: float, out: po.f64["N"]):
    for i in range(x.shape[0]):
        pull = 0.0
        for j in range(x.shape[0]):
            dx = x[i] - x[j]
            dy = y[i] - y[j]
            d = q[j] + dx * dx + dy * dy
            if i != j and d < reach:
                w = d / (0.1 + d)
                pull += w * w * dx + w * dy
        out[i] = pull


def hinge(A: po.f32["N,D"], c: po.f32["D"], w: po.f32["D"], out: po.f32["N"]):
    for n in range(A.shape[0]):
        loss = np.float32(0)
        for d in range(A.shape[1]):
            gap = A[n, d] * w[d] - c[d]
            if gap > 0:
                scaled = gap * gap - np.float32(0.5) * gap
                loss += scaled * gap + scaled * scaled
        out[n] = loss


def below_line(P: po.f64["R,C"], slope: po.f64["R"], area: po.f64["R"]):
    for r in range(P.shape[0]):
        total = 0.0
        for k in range(P.shape[1]):
            high = P[r, k] - slope[r] * P[0, k]
            square = high * high * high
            if high < 0.5:
                total += square * high + square * square
        area[r] = total


PROGRAMS = (
    HeldOut(attraction, ("element_sums",), {"N": 43}),
    HeldOut(hinge, ("element_sums",), {"N": 37, "D": 53}),
    HeldOut(below_line, ("element_sums",), {"R": 35, "C": 47}),
    HeldOut(scores, ("sums",), {"N": 37, "M": 53}, fp="strict"),
    HeldOut(moments, ("order", "sums"), {"T": 61, "C": 39}),
    HeldOut(sum_of_distances, ("sums",), {"N": 47, "D": 35}, fp="strict"),
    HeldOut(one_sweep, ("row_sweep_fusion",), {"N": 39, "M": 51}),
    HeldOut(residual_gradient, ("row_sweep_fusion",), {"T": 45, "D": 37}),
    HeldOut(sensor, ("row_sweep_fusion",), {"S": 41, "F": 33}),
    HeldOut(tempered, ("reduction_fusion",), {"A": 7, "B": 11, "C": 29}),
    HeldOut(shares, ("reduction_fusion",), {"B": 3, "T": 17, "F": 31}),
    HeldOut(centred, ("reduction_fusion",), {"B": 5, "S": 13, "C": 19}),
    HeldOut(log_evidence, ("parallel_reductions",), {"N": 4999}),
    HeldOut(norms, ("parallel_reductions",), {"N": 67, "M": 71}),
    HeldOut(count_above, ("parallel_reductions",), {"A": 11, "B": 13, "C": 17}),
    HeldOut(cosine, ("fusion", "row_sum_fusion"), {"N": 37, "D": 43}),
    HeldOut(two_terms, ("row_sum_fusion",), {"T": 33, "K": 57}),
    HeldOut(spread, ("row_sum_fusion",), {"N": 35, "M": 41}),
    HeldOut(activations, ("function_vectorization",), {"N": 43, "D": 29}),
    HeldOut(projected, ("sums",), {"N": 43, "D": 29}),
    HeldOut(energies, ("function_vectorization",), {"T": 45, "K": 31}),
    HeldOut(entropies, ("function_vectorization",), {"B": 3, "T": 21, "V": 37}),
    HeldOut(relative, ("unroll_and_jam",), {"N": 35, "M": 45}, fp="strict"),
    HeldOut(normal_rows, ("unroll_and_jam",), {"R": 37, "C": 41}, fp="strict"),
    HeldOut(rows_and_means, ("unroll_and_jam",), {"B": 3, "T": 19, "D": 33}, fp="strict"),
    HeldOut(channel_peak, ("fusion_interchange",), {"N": 5, "C": 7, "T": 43}),
    HeldOut(step_energy, ("fusion_interchange",), {"T": 3, "K": 5, "X": 9, "Y": 13}),
    HeldOut(group_shift, ("fusion_interchange",), {"B": 4, "G": 6, "S": 7, "P": 11}),
    HeldOut(correlate, ("register_blocking",), {"H": 29, "W": 35, "H+4": 33, "W+4": 39}),
    HeldOut(filters, ("register_blocking",), {"C": 3, "F": 5, "T": 61, "T+8": 69}),
    HeldOut(
        volumes,
        ("register_blocking",),
        {"C": 3, "X": 9, "Y": 11, "Z": 7, "X+2": 11, "Y+2": 13, "Z+2": 9},
    ),
)
