"""Readers of running sums and extrema in the loop that makes these, with one row of each."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.strategy import auto_schedule
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

MACHINE = Machine(cores=2, vector_bytes=32)


def falls(x: po.f64["N,M"], out: po.f64["M"]):
    total = np.cumprod(x, axis=0)
    out[:] = (total - np.maximum.accumulate(total, axis=0)).min(axis=0)


def ratios(x: po.f64["N,M"], out: po.f64["N,M"]):
    total = np.cumsum(x, axis=0)
    out[:] = x - total * 0.5


def two_steps_back(x: po.f64["N,M"], out: po.f64["M"]):
    y = np.zeros_like(x)
    for i in range(2, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - 0.5 * y[i - 2, j]
    for i in range(2, x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += abs(y[i, j])


def returned(x: po.f64["N,M"], out: po.f64["M"]):
    total = np.cumsum(x, axis=0)
    out[:] = total.min(axis=0)
    return total


def backwards(x: po.f64["N,M"], out: po.f64["N,M"]):
    total = np.cumsum(x, axis=0)
    out[:] = total[::-1] - x


def whole(x: po.f64["N,M"], out: po.f64["N,M"]):
    total = np.cumsum(x, axis=0)
    out[:] = total / total[-1]


def neighbours(x: po.f64["N,M"], out: po.f64["N,M"]):
    total = np.cumsum(x, axis=0)
    out[:, 1:-1] = total[:, :-2] + total[:, 2:]


def contracted(function):
    """Return the shapes of the temporaries of two dimensions after scheduling."""
    scop = auto_schedule(program_of(function).scop, MACHINE).scop
    return {
        array.name: [getattr(extent, "value", None) for extent in array.shape]
        for array in scop.arrays
        if array.role.name == "TEMP" and len(array.shape) == 2
    }


@pytest.mark.parametrize(("function", "count"), [(falls, 2), (ratios, 1)])
def test_one_row_of_each_temporary_is_kept(function, count):
    assert list(contracted(function).values()) == [[1, None]] * count


@pytest.mark.parametrize("function", [backwards, whole])
def test_rows_that_are_read_in_another_order_are_kept(function):
    assert list(contracted(function).values()) == [[None, None]]


def test_results_are_no_temporaries():
    steps = [str(step) for step in auto_schedule(program_of(returned).scop, MACHINE).steps]
    assert not any("contract" in step for step in steps)


def test_loops_keep_independent_elements():
    """Elements beside each other would make the loop over columns sequential."""
    text = auto_schedule(program_of(neighbours).scop, MACHINE).text
    assert "fuse" not in text
    assert text.count("parallelize") >= 2


@pytest.mark.matrix(3)
@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "function", [falls, ratios, two_steps_back, returned, backwards, whole, neighbours]
)
def test_results(function, threads, fp):
    kernel = po.kernel(function, threads=threads, fp=fp)
    rng = np.random.default_rng(3)
    is_matrix = function in (ratios, backwards, whole, neighbours)
    for n, m in ((1, 2), (2, 3), (3, 5), (9, 2), (37, 70), (41, 601)):
        x = rng.uniform(0.5, 1.5, (n, m))
        mine = np.zeros((n, m) if is_matrix else m)
        theirs = mine.copy()
        got, want = kernel(x, mine), function(x, theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-11)
