"""Bounds of sums whose factors matrix instructions may round to tf32."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import numpy as np

import polyopt as po
from polyopt.bounding import bounds_of
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.schedule.reductions import reassociated, rounding


def product(A: po.f32["N,K"], B: po.f32["K,M"]):
    return A @ B


def to_tf32(x: np.ndarray) -> np.ndarray:
    """Return numbers rounded to 11 bits, to the nearest."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x1000) & 0xFFFFE000).astype(np.uint32).view(np.float32)


def test_the_bound_covers_rounded_factors_and_little_more() -> None:
    program = reassociated(build(product, infer_types(product)))
    random = np.random.default_rng(5)
    A, B = (random.uniform(0.5, 1, s).astype(np.float32) for s in ((6, 9), (9, 5)))
    (plain,) = bounds_of(program, (A, B)).errors.values()
    (wide,) = bounds_of(rounding(program), (A, B)).errors.values()
    error = np.abs(to_tf32(A).astype(np.float64) @ to_tf32(B) - A.astype(np.float64) @ B)
    assert (error > plain).any()
    assert (error <= wide).all()
    terms = A.astype(np.float64) @ B
    assert (wide < 1.1 * 2.0**-10 * terms).all()
