"""Sweeps over grids: in tiles of time, along diagonals, with windows, across memory, fused."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def relaxed(T: int, u: po.f64["40,72"]):
    for _ in range(T):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def upwind(T: int, c: po.f32["N,N"]):
    for _ in range(T):
        for i in range(1, c.shape[0]):
            for j in range(1, c.shape[1]):
                c[i, j] = c[i, j] + np.float32(0.5) * (c[i - 1, j] - c[i, j - 1])


def settled(T: int, h: po.f64["N,N"]):
    for _ in range(T):
        for i in range(1, h.shape[0] - 1):
            for j in range(1, h.shape[1] - 1):
                h[i, j] = max(h[i, j], min(h[i - 1, j - 1], h[i, j - 1]), h[i + 1, j] - 1.0)


def wave(T: int, u: po.f64["N"], v: po.f64["N"]):
    for _ in range(T):
        for i in range(1, u.shape[0] - 1):
            v[i] += 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] += v[i]


def paths(cost: po.i64["N,M"]):
    for i in range(1, cost.shape[0]):
        for j in range(1, cost.shape[1]):
            cost[i, j] += min(cost[i - 1, j], cost[i, j - 1])


def diffused(T: int, a: po.f32["X,Y,Z"], b: po.f32["X,Y,Z"]):
    for _ in range(T):
        b[1:-1, 1:-1, 1:-1] = a[1:-1, 1:-1, 1:-1] * 0.5 + a[:-2, 1:-1, 1:-1] + a[1:-1, 1:-1, 2:]
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1] * 0.5 - b[1:-1, :-2, 1:-1]


def eroded(x: po.f64["H,W"], out: po.f64["H-2,W-2"]):
    for y in range(out.shape[0]):
        for z in range(out.shape[1]):
            low = x[y, z]
            for i in range(3):
                for j in range(3):
                    low = min(low, x[y + i, z + j])
            out[y, z] = low


def sharpest(x: po.f32["B,T+4"], out: po.f32["B,T"]):
    for b in range(out.shape[0]):
        for t in range(out.shape[1]):
            out[b, t] = 0.0
            for k in range(4):
                out[b, t] = max(out[b, t], x[b, t + k] * x[b, t + k + 1])


def widest_step(x: po.f64["N+3"], out: po.f64["N"]):
    for n in range(out.shape[0]):
        for k in range(3):
            out[n] = max(out[n], abs(x[n + k + 1] - x[n + k]))


def mirrored(A: po.f64["N,M"], B: po.f64["M,N"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = 2.0 * A[i, j]


def heads_first(x: po.f32["B,T,H,D"]):
    return np.ascontiguousarray(np.transpose(x, (0, 2, 3, 1)))


def symmetric_part(A: po.f64["N,N"], S: po.f64["N,N"]):
    S[:] = 0.5 * (A + A.T)


def contrast(x: po.f32["N,M"], low: po.f32["N,M"], high: po.f32["N,M"]):
    mid = (low + high) * 0.5
    return np.abs(x - mid) / (high - low + 1.0)


def two_stage(u: po.f64["N,M"], v: po.f64["N,M"], w: po.f64["N,M"]):
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            v[i, j] = u[i, j] * u[i, j]
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            w[i, j] = v[i, j] - u[i, j]


def by_columns(A: po.f64["N,M"], B: po.f64["N,M"]):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            B[i, j] = A[i, j] + B[i, j]


def planes_last(v: po.f32["A,B,C"], s: po.f32["C"]):
    for c in range(v.shape[2]):
        for b in range(v.shape[1]):
            for a in range(v.shape[0]):
                v[a, b, c] = v[a, b, c] * s[c]


def chained(x: po.f64["N"], y: po.f64["N"], z: po.f64["N"]):
    y[:] = x + 1.0
    z[:] = y * x
    y[:] = z - x


PROGRAMS = (
    HeldOut(relaxed, ("wavefront_vectorization", "tiling"), {"T": 5}),
    HeldOut(upwind, ("wavefront_vectorization", "tiling"), {"T": 4, "N": 33}),
    HeldOut(settled, ("wavefront_vectorization", "tiling"), {"T": 3, "N": 43}),
    HeldOut(wave, ("tiling", "vector"), {"T": 7, "N": 97}),
    HeldOut(paths, ("tiling",), {"N": 51, "M": 67}),
    HeldOut(diffused, ("tiling", "vector"), {"T": 3, "X": 11, "Y": 13, "Z": 19}),
    HeldOut(
        eroded,
        ("short_loop_unrolling", "outer_vectorization"),
        {"H": 23, "W": 39, "H-2": 21, "W-2": 37},
    ),
    HeldOut(sharpest, ("short_loop_unrolling",), {"B": 9, "T": 39, "T+4": 43}),
    HeldOut(widest_step, ("short_loop_unrolling", "outer_vectorization"), {"N": 61, "N+3": 64}),
    HeldOut(mirrored, ("transpose_tiling",), {"N": 37, "M": 45}),
    HeldOut(heads_first, ("transpose_tiling",), {"B": 2, "T": 19, "H": 3, "D": 17}),
    HeldOut(symmetric_part, ("transpose_tiling",), {"N": 43}),
    HeldOut(contrast, ("vector",), {"N": 23, "M": 37}),
    HeldOut(two_stage, ("fusion", "vector"), {"N": 29, "M": 41}),
    HeldOut(chained, ("fusion",), {"N": 83}),
    HeldOut(by_columns, ("order", "vector"), {"N": 31, "M": 35}),
    HeldOut(planes_last, ("order",), {"A": 7, "B": 11, "C": 23}),
)
