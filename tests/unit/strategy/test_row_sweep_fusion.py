"""Products with a matrix and with its transpose, in one sweep over its rows."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.row_sweep_fusion import fuse_row_sweeps
from polyopt.transforms import Affine, Fusion
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

TWO = Machine(cores=2)


def both(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    p += A @ x
    q += y @ A


def chained(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    p[:] = A @ x
    q[:] = A.T @ p + y[0]


def updated(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    A += np.outer(y, x)
    q[:] = y @ A
    p[:] = A @ q


def gradient(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    p[:] = 1.0 / (1.0 + np.exp(-(A @ x)))
    q[:] = A.T @ (p - y)


def descent(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    for _ in range(3):
        q -= 0.01 * (A.T @ (A @ q - y))
    p[:] = y
    x *= 2.0


def in_loops(A: po.f64["N,M"], x: po.f64["M"], y: po.f64["N"], p: po.f64["N"], q: po.f64["M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            p[i] += A[i, j] * x[j]
            q[j] += A[i, j] * y[i]


def nests(function):
    start = source_schedule(program_of(function).scop).apply(Affine(Fusion.MIN))
    return contiguous_innermost(start)


def joined(function, machine=TWO):
    return fuse_row_sweeps(nests(function), machine)


def steps(function, machine=TWO):
    return [str(step).partition("(")[0] for step in joined(function, machine).trace]


def test_rows_are_read_once():
    """A group of rows gives its results, and adds to what a thread has of the others'."""
    assert [s for s in steps(both) if s in ("fuse", "deal", "rfactor", "parallelize")] == [
        *("fuse", "deal", "rfactor", "parallelize")
    ]
    assert "tile(L1, 6)" in joined(both).text  # two of 16 registers for each


def test_more_registers_hold_more_rows():
    wide = Machine(cores=2, vector_bytes=64, vector_registers=32)
    assert "tile(L1, 8)" in joined(both, wide).text


def test_results_of_a_group_are_used_while_its_rows_are_near():
    """The second nest needs the first one's results of the same rows: they take turns."""
    text = joined(chained).text
    assert "distribute(L1.point, 1)" in text
    assert "rfactor" in text


def test_what_is_done_to_each_row_goes_along():
    """Functions of the rows' results have all their lanes: a group of rows for each."""
    wide = Machine(cores=2, vector_bytes=64)
    text = joined(gradient, wide).text
    assert "tile(L1, 8);" in text
    assert "vectorize(L1.point.1[0])" in text
    assert "tile(L1, 4);" in joined(gradient, Machine(cores=2, vector_bytes=32)).text


def test_in_a_loop_over_time_too():
    found = steps(descent)
    assert found.count("deal") == found.count("rfactor") == 1


def test_one_thread_has_no_partial_results():
    """A single core adds to the results themselves."""
    found = steps(both, Machine(cores=1))
    assert "fuse" in found
    assert not {"deal", "rfactor", "parallelize"} & set(found)


def test_the_order_of_loops_is_kept():
    """Sums of explicit loops have an order, unless the mode opens it."""
    schedule = nests(in_loops)
    assert fuse_row_sweeps(schedule, TWO) is schedule


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [both, chained, updated, gradient, descent])
def test_results(function):
    """The same as NumPy's, at sizes that groups of rows do not divide, and without any."""
    kernel = po.kernel(function, threads=2)
    rng = np.random.default_rng(1)
    for n, m in ((1, 1), (3, 5), (4, 4), (9, 2), (37, 70), (8, 0), (301, 260)):
        shapes = ((n, m), (m,), (n,), (n,), (m,))
        want = [rng.uniform(-1, 1, shape) for shape in shapes]
        got = [array.copy() for array in want]
        function(*want)
        kernel(*got)
        for one, two in zip(got, want, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11)
