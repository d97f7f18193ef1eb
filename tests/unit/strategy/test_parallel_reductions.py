"""Sums over whole nests: split among threads, in a pass with what makes their terms."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.tree import bands
from polyopt.strategy import auto_schedule
from polyopt.strategy.parallel_reductions import parallelize_reductions
from polyopt.transforms import Rfactor
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

TWO = Machine(cores=2)


def normalized(x: po.f64["N"]):
    y = np.exp(x)
    return y / y.sum()


def counted(x: po.f64["N,M"], least: po.f64):
    return np.where(x > least, x, 0.0), (x > least).sum(), x.max()


def three(x: po.i64["N"], y: po.i64["N"]):
    return (x * y).sum(), x.sum(), (x == y).sum()


def in_order(x: po.f64["N"]):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total


def running(x: po.f64["N"], sums: po.f64["N"]):
    total = 0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += 1
        sums[i] = total
    return total


def powers(x: po.f64["N"], steps: int):
    for _ in range(steps):
        x /= (x * x).sum()


def boxes(x: po.f64["K,N,M"]):
    return x.sum(), (x * x).sum()


def planes(x: po.f64["4,N"]):
    return x.sum()


def short(x: po.f64["9"]):
    return x.sum()


PROGRAMS = (normalized, counted, three, powers, boxes, planes)


def split(function):
    """Return the parallel loops over parts of the automatic schedule, and its text."""
    schedule = auto_schedule(program_of(function).scop, TWO)
    labels = [
        band.label for band in bands(schedule.tree) if band.members[0].kind is LoopKind.PARALLEL
    ]
    return labels, " ".join(map(str, schedule.trace))


@pytest.mark.parametrize("function", PROGRAMS)
def test_whole_sums_have_parts(function):
    _, steps = split(function)
    assert "rfactor" in steps


def test_sums_and_what_makes_their_terms_are_one_pass():
    assert len(split(normalized)[0]) == 2  # and the division
    assert len(split(counted)[0]) == 1
    assert len(split(three)[0]) == 1
    assert len(split(boxes)[0]) == 1


@pytest.mark.parametrize("function", [in_order, running, short])
def test_what_is_left(function):
    """Sums whose order counts, sums that are read meanwhile, and few terms."""
    start = source_schedule(program_of(function).scop)
    assert parallelize_reductions(start, ()) is start


def test_bands_that_are_done_are_left():
    start = source_schedule(program_of(normalized).scop)
    assert parallelize_reductions(start, {"L1"}) is start
    assert "L0" in {band.label for band in bands(parallelize_reductions(start, {"L0"}).tree)}


@pytest.mark.toolchain
def test_they_are_right_and_the_same_for_any_number_of_threads():
    alone, shared = (po.kernel(normalized, threads=threads) for threads in (1, 2))
    for count in (0, 1, 4095, 4096, 4097, 40_000):
        x = np.random.default_rng(count).normal(size=count)
        np.testing.assert_array_equal(alone(x), shared(x))
        np.testing.assert_allclose(shared(x), normalized(x), rtol=1e-13)


@pytest.mark.toolchain
def test_several_sums_of_one_pass():
    kernel = po.kernel(counted)
    for shape in ((1, 1), (3, 5), (4, 70), (133, 97)):
        x = np.random.default_rng(1).normal(size=shape)
        expected = counted(x, 0.3)
        kept, count, most = kernel(x, 0.3)
        np.testing.assert_array_equal(kept, expected[0])
        assert (count, most) == expected[1:]
    x[-1, -1] = np.nan
    assert np.isnan(kernel(x, 0.3)[2])


@pytest.mark.toolchain
def test_sums_inside_time_steps():
    x = np.random.default_rng(2).normal(size=9000)
    expected = x.copy()
    powers(expected, 3)
    po.kernel(powers)(x, 3)
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def damped(A: po.f64["N,N"], x: po.f64["N"]):
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        x[i] = 0.5 * total


def repeated(A: po.f64["N,N"], x: po.f64["N"], steps: int):
    for _ in range(steps):
        for i in range(A.shape[0]):
            total = 0.0
            for j in range(A.shape[1]):
                total += A[i, j] * x[j]
            x[i] = 0.5 * total


@pytest.mark.parametrize(("function", "splits"), [(damped, True), (repeated, False)])
def test_sums_below_two_serial_loops_stay_whole(function, splits):
    schedule = auto_schedule(reassociated(program_of(function)).scop, TWO)
    assert any(isinstance(step, Rfactor) for step in schedule.trace) == splits
