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
