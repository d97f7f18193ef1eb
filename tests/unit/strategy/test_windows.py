"""Rows that parallel iterations keep for themselves, in the cells of a hand."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.strategy.lanes import sink_lanes
from polyopt.strategy.tiling import parallelize_outer
from polyopt.strategy.windows import share_rows
from polyopt.transforms import parse_steps
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
TWO = Machine(cores=2)
FUSED = "fuse(L0, L1, 1); fuse(L0, L2, 1); fuse(L0, L3, 1)"


def shares(a: po.f64["N,M"], out: po.f64["N,M"]):
    powers = np.exp(a)
    out[:] = powers / np.sum(powers, axis=1)[:, None]


def picked(a: po.f64["N,M"], at: po.i64["N"], out: po.f64["N"]):
    powers = np.exp(a)
    out[:] = powers[np.arange(len(at)), at]


def few(a: po.f64["N,4"], out: po.f64["N,4"]):
    powers = np.exp(a)
    out[:] = powers / np.sum(powers, axis=1)[:, None]


def parallel(function, steps):
    schedule = source_schedule(program_of(function).scop)
    return parallelize_outer(schedule.apply(*parse_steps(steps)), TWO)


def test_a_hand_has_one_row():
    """N rows of powers become one for each of four hands a core."""
    schedule = share_rows(parallel(shares, FUSED), TWO)
    found = [str(step) for step in schedule.trace[-3:]]
    assert found == ["deal(L0[0], 8)", "contract(powers, 8, 0)", "parallelize(L0[0])"]


def pooled(x: po.f32["N,H,W,C"], out: po.f32["N,H,W,C"]):
    for n in range(x.shape[0]):
        for i in range(x.shape[1] // 2):
            for j in range(x.shape[2] // 2):
                for c in range(x.shape[3]):
                    top = x[n, 2 * i, 2 * j, c]
                    for p in range(2):
                        for q in range(2):
                            top = max(top, x[n, 2 * i + p, 2 * j + q, c])
                    out[n, i, j, c] = top


def test_strips_in_lanes_leave_other_loops_to_threads():
    """A strip of channels runs inside rows and planes; what it keeps is no row of a hand."""
    steps = "affine(min); fuse(L0, L1, 4); fuse(L0, L4, 4)"
    start = source_schedule(program_of(pooled).scop).apply(*parse_steps(steps))
    with patch("polyopt.strategy.unrolled.MOST_COPIES", 1):
        found = parallelize_outer(sink_lanes(start), TWO)
    assert str(found.trace[4]) == "tile(L0.inner, 256)"
    assert str(found.trace[-1]) == "parallelize(L0[0])"
    assert share_rows(found, TWO) is found


@pytest.mark.parametrize(("function", "steps"), [(shares, "fuse(L0, L1, 1)"), (few, FUSED)])
def test_left_alone(function, steps):
    """A temporary that two nests need, and one of which an iteration has four cells."""
    schedule = parallel(function, steps)
    assert share_rows(schedule, TWO) is schedule


def test_a_cell_that_data_chooses_stays():
    """Which element is read is not known, and so not when it is needed for the last time."""
    kernel = po.kernel(picked, threads=2)
    text = kernel.schedule(np.zeros((3, 4)), np.zeros(3, np.int64), np.zeros(3)).text
    assert "contract" not in text


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 7), (8, 2), (300, 130)])
def test_results(shape):
    """As many rows as hands, fewer, more, and none."""
    a = np.random.default_rng(2).uniform(-1, 1, shape)
    want, got = np.zeros(shape), np.zeros(shape)
    shares(a, want)
    po.kernel(shares, threads=2)(a, got)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def lines(u: po.f64["N,M"]):
    q = np.zeros((u.shape[0], u.shape[1]))
    for i in range(u.shape[0]):
        q[i, 0] = u[i, 0]
        for j in range(1, u.shape[1]):
            q[i, j] = u[i, j] / (q[i, j - 1] + 2.0)
        for j in range(u.shape[1]):
            u[i, j] -= q[i, j]


def test_a_hand_of_tiles_has_the_rows_of_a_tile():
    """Sixteen rows go together: those of each of four hands a core are enough."""
    text = auto_schedule(program_of(lines).scop, Machine(cores=2, vector_bytes=64)).text
    assert "tile(" in text
    assert "contract(q_2, 0, 128)" in text


@pytest.mark.toolchain
def test_tiles_of_a_hand_take_turns():
    kernel = po.kernel(lines, threads=2)
    for shape in ((1, 1), (15, 3), (16, 7), (150, 33), (700, 40)):
        u = np.random.default_rng(1).uniform(size=shape)
        expected = u.copy()
        lines(expected)
        kernel(u)
        np.testing.assert_array_equal(u, expected)
