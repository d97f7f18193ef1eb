"""Short loops unrolled inside SIMD lanes: recognition, order, exceptions."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.schedule import source_schedule
from polyopt.strategy.outer_vectorization import vectorize_outer_loops
from polyopt.strategy.short_loop_unrolling import trip_count, unroll_short
from polyopt.transforms import parse_steps
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def window(x: po.f64["N+2,M+2"], out: po.f64["N,M"], steps: int):
    for _ in range(steps):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                top = x[i, j]
                for p in range(3):
                    for q in range(3):
                        top = max(top, x[i + p, j + q])
                out[i, j] = top


def sums(x: po.f32["N,M+2"], weights: po.f32["3"], out: po.f32["N,M"]):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for q in range(3):
                out[i, j] += weights[q] * x[i, j + q]


def cut_off(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        for p in range(max(0, i - 1), min(x.shape[0], i + 2)):
            out[i] += x[p]


def large(x: po.f64["N,M+40"], out: po.f64["N,M"]):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for q in range(40):
                out[i, j] = max(out[i, j], x[i, j + q])


def source(function):
    return source_schedule(program_of(function).scop)


def steps_of(function):
    return [str(step) for step in vectorize_outer_loops(source(function)).trace]


def test_sums_stay_in_registers():
    assert steps_of(sums) == ["unroll(L0[2])", "vectorize(L0[1])"]


def test_bands_inside_of_others_have_lanes_too():
    """A loop over time is no reason to leave the windows inside of it as they are."""
    found = steps_of(window)
    assert [step for step in found if step.startswith("vectorize")]
    assert len([step for step in found if step.startswith("unroll")]) == 2


@pytest.mark.parametrize("function", [cut_off, large])
def test_other_lengths_are_left(function):
    """Of a window cut off at the ends lanes differ; many copies are no gain."""
    schedule = source(function)
    assert unroll_short(schedule, "L0") is None


def test_the_length_of_a_loop():
    schedule = source(sums)
    assert [trip_count(schedule, "L0", p) for p in range(3)] == [None, None, 3]
    assert trip_count(source(cut_off), "L0", 1) is None
    tiled = schedule.apply(*parse_steps("tile(L0, 8, 8, 1)"))
    assert trip_count(tiled, "L0.point", 0) is None  # the last tile may be shorter


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint64])
@pytest.mark.parametrize("columns", [0, 1, 37])
def test_extrema_in_lanes(dtype, columns):
    """Of two operands the one that is no number wins, and the second of two equal ones."""

    def extrema(x, y, least, most):
        least[:] = np.minimum(x, y)
        most[:] = np.maximum(x, y)

    x = np.arange(3 * columns).reshape(3, columns).astype(dtype) % 5
    y = x[::-1, ::-1].copy()
    if x.dtype.kind == "f" and x.size:
        x[0, 0], y[1, -1], x[2, 0], y[2, 0] = np.nan, np.nan, -0.0, 0.0
    least, most = np.empty_like(x), np.empty_like(x)
    po.kernel(extrema)(x, y, least, most)
    np.testing.assert_array_equal(least, np.minimum(x, y))
    np.testing.assert_array_equal(most, np.maximum(x, y))


def pooled(x: po.f64["2*N,2*M,C"]):
    N, M, C = x.shape[0] // 2, x.shape[1] // 2, x.shape[2]
    out = np.empty((N, M, C))
    for i in range(N):
        for j in range(M):
            for c in range(C):
                top = x[2 * i, 2 * j, c]
                for p in range(2):
                    for q in range(2):
                        top = max(top, x[2 * i + p, 2 * j + q, c])
                out[i, j, c] = top
    return out


@pytest.mark.toolchain
def test_initialization_and_use_of_a_maximum_share_its_lanes():
    kernel = po.kernel(pooled, threads=1, fp="reassociate")
    x = np.random.default_rng(3).random((6, 8, 21))
    assert np.array_equal(kernel(x), pooled(x))
    compiled = kernel.compile(x)
    assert str(compiled.schedule).count("# unroll") == 2
    assert "po_alloc" not in compiled.source  # the maximum is a scalar
