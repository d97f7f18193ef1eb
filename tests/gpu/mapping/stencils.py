# ruff: noqa: F821, UP037
"""Stencils that are mapped: one step, and steps that take turns.

In: nothing.  Out: annotated functions, the same in NumPy or as loops.
"""

from __future__ import annotations

import polyopt as po


def blur(A: po.f32["N,M"], B: po.f32["N,M"]):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
            here = A[i, j - 1] + A[i, j] + A[i, j + 1]
            below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
            B[i, j] = (above + here + below) / 9


def five_points(A: po.f32["N,M"], B: po.f32["N,M"]):
    B[1:-1, 1:-1] = A[1:-1, :-2] + A[1:-1, 2:] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, 1:-1]


def line(T: int, A: po.f64["N"], B: po.f64["N"]):
    for _ in range(T):
        B[1:-1] = 0.25 * A[:-2] + 0.5 * A[1:-1] + 0.25 * A[2:]
        A[1:-1] = 0.25 * B[:-2] + 0.5 * B[1:-1] + 0.25 * B[2:]


def plane(T: int, A: po.f32["N,M"], B: po.f32["N,M"]):
    for _ in range(T):
        B[1:-1, 1:-1] = A[1:-1, :-2] + A[1:-1, 2:] + A[:-2, 1:-1] + A[2:, 1:-1]
        A[1:-1, 1:-1] = B[1:-1, 1:-1] / 4


def waves(T: int, E: po.f64["N"], H: po.f64["N"]):
    for _ in range(T):
        E[1:] -= 0.5 * (H[1:] - H[:-1])
        H[:-1] -= 0.7 * (E[1:] - E[:-1])


def in_place(T: int, A: po.f64["N"]):
    for _ in range(T):
        for i in range(1, A.shape[0] - 1):
            A[i] = 0.5 * (A[i - 1] + A[i + 1])


def scaled(T: int, A: po.f64["N"]):
    for _ in range(T):
        A[:] = 0.5 * A


def copied(A: po.f32["N,M"], B: po.f32["N,M"]):
    B[:] = A


def across(A: po.f32["N,M"], B: po.f32["N,M"]):
    B[:, 1:] = A[:, 1:] + A[:, :-1]
