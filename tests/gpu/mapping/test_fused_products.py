"""Products and their sums round once on devices where the mode permits it."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

# ruff: noqa: F821, UP037 - sizes are named by strings


def product(C: po.f32["M,N"], A: po.f32["M,K"], B: po.f32["K,N"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def heat(C: po.f32["M,N"], A: po.f32["M,N"], B: po.f32["M,N"]):
    for i in range(1, C.shape[0] - 1):
        for j in range(C.shape[1]):
            C[i, j] = 0.3 * (A[i + 1, j] - 1.9 * A[i, j] + A[i - 1, j]) + B[i, j]


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [product, heat])
def test_only_reassociate_rounds_once(func):
    rng = np.random.default_rng(3)
    args = [rng.normal(size=(37, 37)).astype(np.float32) for _ in range(3)]
    want = [a.copy() for a in args]
    func(*want)
    for fp, fuses in (("strict", False), ("reassociate", True)):
        ours = [a.copy() for a in args]
        made = po.kernel(target="cuda", device="emulated", fp=fp)(func).compile(*ours)
        assert ("fmaf(" in made.source) is fuses
        bounds = made.error_bounds(*ours)
        made(*ours)
        far = abs(ours[0].astype(np.float64) - want[0])
        assert (far <= (bounds["C"] if fuses else 0.0)).all()
        assert bool(far.max() > 0) is fuses
