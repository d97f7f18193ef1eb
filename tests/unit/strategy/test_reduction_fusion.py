"""Sums of columns, made in the pass over the rows that runs in parallel anyway."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.emit.regions import thread_arrays
from polyopt.ir.showing import show
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.fusion import fuse_nests
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.reduction_fusion import fuse_reductions, fusible_reductions
from polyopt.transforms import Affine, Fusion, Interchange
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

TWO = Machine(cores=2)


def scaled(A: po.f64["N,M"], B: po.f64["N,M"], s: po.f64["M"]):
    B[:] = A * A.sum(axis=1)[:, None]
    s += A.sum(axis=0)


def two_totals(A: po.f64["N,M"], B: po.f64["N,M"], s: po.f64["M"], t: po.f64["M"]):
    C = A * 2.0 + B
    s += C.sum(axis=0)
    t += (A * C).sum(axis=0)
    B[:] = C - C.mean(axis=1)[:, None]


def batches(A: po.f64["K,N,M"], B: po.f64["K,N,M"], s: po.f64["M"]):
    B[:] = np.exp(A) * A.sum(axis=2)[:, :, None]
    s += A.sum(axis=(0, 1))


def centred(A: po.f64["N,M"], B: po.f64["N,M"]):
    B[:] = A - A.mean(axis=0)


def in_order(A: po.f64["N,M"], B: po.f64["N,M"], s: po.f64["M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] + 1.0
            s[j] += A[i, j]


def prepared(function):
    start = source_schedule(program_of(function).scop).apply(Affine(Fusion.MIN))
    return contiguous_innermost(start)


def joined(function, machine=TWO):
    start = prepared(function)
    waiting = fusible_reductions(start, ())
    return fuse_reductions(fuse_nests(start, waiting), waiting, (), machine)


def steps(schedule):
    return [str(step).partition("(")[0] for step in schedule.trace]


@pytest.mark.parametrize(("function", "count"), [(scaled, 1), (two_totals, 2), (batches, 1)])
def test_threads_have_partial_sums(function, count):
    """One pass: every sum has partial results, a hand of rows for each core."""
    found = steps(joined(function))
    assert found.count("rfactor") == count
    assert found.count("deal") == 1
    assert found[-1] == "parallelize"


def test_threads_have_a_row_of_temporaries():
    """What a row makes and its sums use is not kept for all rows."""
    loops = lower(joined(two_totals), program_of(two_totals), by_thread=True)
    rows = {
        array.name: [show(extent) for extent in array.shape] for array in thread_arrays(loops.body)
    }
    assert rows == {"C": ["M"]}


def test_one_thread_has_no_partial_sums():
    """A single core adds to the results themselves."""
    found = steps(joined(scaled, Machine(cores=1)))
    assert "fuse" in found
    assert not {"deal", "rfactor", "parallelize"} & set(found)


@pytest.mark.parametrize("function", [centred, in_order])
def test_what_has_to_wait_is_left_alone(function):
    """The rows need the whole sum first; or the order of the sum counts."""
    assert not fusible_reductions(prepared(function), ())


def product(A: po.f64["N,N"], B: po.f64["N,M"], C: po.f64["N,M"]):
    B[:] = 2.0 * B
    C += A.T @ B


def test_a_product_does_not_wait_for_a_pass():
    """It adds rows to the same results, too, but reads them many times: it is tiled."""
    rows_first = prepared(product).apply(Interchange("L2[0]", "L2[1]"))
    assert find_roles(rows_first, "L2") is not None
    assert not fusible_reductions(rows_first, ())


def test_a_sum_without_a_pass_is_tiled():
    """What is held back for a pass and finds none is a sum of columns like any other."""
    assert "tile(L1, " in auto_schedule(program_of(centred).scop, TWO).text


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [scaled, two_totals, centred, in_order])
def test_results(function, fp):
    """The same as NumPy's, at sizes that hands do not divide, and without any rows."""
    kernel = po.kernel(function, threads=2, fp=fp)
    rng = np.random.default_rng(1)
    count = function.__code__.co_argcount
    for n, m in ((1, 1), (3, 5), (4, 4), (9, 2), (37, 70), (301, 260)):
        shapes = ((n, m), (n, m), (m,), (m,))[:count]
        want = [rng.uniform(-1, 1, shape) for shape in shapes]
        got = [array.copy() for array in want]
        function(*want)
        kernel(*got)
        for one, two in zip(got, want, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11)


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (5, 2, 17), (0, 3, 4), (3, 0, 4)])
def test_results_of_batches(shape):
    """Two loops over rows, also without iterations."""
    rng = np.random.default_rng(2)
    A, B, s = rng.uniform(-1, 1, shape), np.zeros(shape), rng.uniform(-1, 1, shape[2])
    want, total = np.zeros(shape), s.copy()
    batches(A, want, total)
    po.kernel(batches, threads=2)(A, B, s)
    np.testing.assert_allclose(B, want, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(s, total, rtol=1e-11, atol=1e-11)
