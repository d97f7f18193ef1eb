"""Sums along rows in order, several rows at a time, in the pass over the rows."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.strategy.fusion import fuse_nests
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.unroll_and_jam import jam_row_sums, row_sums
from polyopt.transforms import Affine, Fusion
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

TWO = Machine(cores=2)


def shares(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        top = 0.0
        for j in range(A.shape[1]):
            top = max(top, A[i, j])
        total = 0.0
        for j in range(A.shape[1]):
            B[i, j] = np.exp(A[i, j] - top)
            total += B[i, j]
        for j in range(A.shape[1]):
            B[i, j] /= total


def two_sums(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        one = 0.0
        two = 0.0
        for j in range(A.shape[1]):
            one += A[i, j]
            two += A[i, j] * A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = (A[i, j] - one) * two


def batches(A: po.f64["K,N,M"], B: po.f64["K,N,M"]):
    K, N, M = A.shape
    for k in range(K):
        for i in range(N):
            total = 0.0
            for j in range(M):
                total += A[k, i, j]
            for j in range(M):
                B[k, i, j] = A[k, i, j] - total


def unrelated(A: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"]):
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            x[i] += A[i, j] * y[j]
    for i in range(N):
        y[i] = x[i] + 1.0


def other_rows(A: po.f64["N,N"], B: po.f64["N,N"], x: po.f64["N"]):
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            x[i] += A[i, j]
    for i in range(N):
        for j in range(N):
            B[i, j] = A[j, i] + 1.0


def open_sum(A: po.f64["N,M"], B: po.f64["N,M"]):
    B[:] = A - A.sum(axis=1)[:, None]


def own_rows(A: po.f64["N,M"], B: po.f64["N,M"]):
    N, M = A.shape
    for i in range(N):
        row = np.empty(M)
        total = 0.0
        for j in range(M):
            row[j] = A[i, j] * 2.0
            total += row[j]
        for j in range(M):
            B[i, j] = row[j] / total


ABREAST = (shares, two_sums, batches)
APART = (unrelated, other_rows, open_sum, own_rows)


def prepared(function):
    start = source_schedule(program_of(function).scop).apply(Affine(Fusion.MIN))
    return contiguous_innermost(start)


@pytest.mark.parametrize(("function", "count"), [(shares, 1), (two_sums, 2), (batches, 1)])
def test_sums_run_several_rows_at_a_time(function, count):
    """Full hands of rows: each sum has an accumulator for each row; other rows go one by one."""
    start = prepared(function)
    sums = row_sums(start, ())
    assert len(sums) == count
    found = jam_row_sums(fuse_nests(start, frozenset()), sums, TWO)
    steps = [str(step).partition("(")[0] for step in found.trace]
    assert steps.count("unroll") == count
    assert steps.count("separate") == 1


def test_other_parts_stay_together():
    """What comes before the sum is one loop over the rows of a hand."""
    text = auto_schedule(program_of(shares).scop, TWO).text
    distributed = text.index("distribute(L0.point, 1)")
    assert text.count("fuse(L0.point.", distributed) == 2


@pytest.mark.parametrize("function", APART)
def test_others_are_left_alone(function):
    """Nothing runs over the same rows; the order is open; rows would be kept for all iterations."""
    assert not row_sums(prepared(function), ())


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [*ABREAST, *APART])
def test_results(function, threads, fp):
    """In strict mode the bits of the source's order, for whole hands of rows, rests and none."""
    kernel = po.kernel(function, threads=threads, fp=fp)
    plain = po.kernel(function, schedule="source")
    rng = np.random.default_rng(1)
    ranks = [len(str(kind).split(",")) for kind in function.__annotations__.values()]
    for sizes in ((1, 1, 1), (2, 8, 5), (3, 16, 16), (1, 9, 2), (2, 37, 70), (3, 0, 4), (2, 3, 0)):
        square = function in (unrelated, other_rows)
        n, m = (sizes[1],) * 2 if square else sizes[1:]
        shape = {1: (n,), 2: (n, m), 3: (sizes[0], n, m)}
        want = [rng.uniform(0.5, 1, shape[rank]) for rank in ranks]
        got = [array.copy() for array in want]
        plain(*want)
        kernel(*got)
        for one, two in zip(got, want, strict=True):
            if fp == "strict" and function is not open_sum:
                assert one.tobytes() == two.tobytes()
            else:
                np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11)
