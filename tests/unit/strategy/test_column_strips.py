"""Strips of columns: which nests have them, what becomes of them, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.column_strips import strip_columns
from polyopt.transforms import Affine, Fusion
from tests import scops
from tests.checks import assert_computes
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=8, vector_registers=8)  # strips of four columns

PROJECTIONS = """
    for k in range(M):
        for i in range(N):
            S[k, k] = S[k, k] + A[i, k] * A[i, k]
        for j in range(k + 1, M):
            for i in range(N):
                S[k, j] = S[k, j] + A[i, k] * A[i, j]
            for i in range(N):
                A[i, j] = A[i, j] - A[i, k] * S[k, j] / S[k, k]
    """


def in_strips():
    scop = read(PROJECTIONS, "A[N, M]; S[M, M]", "N M")
    start = source_schedule(scop).apply(Affine(Fusion.MIN))
    return scop, strip_columns(start, "L0", SMALL)


def test_same_results():
    scop, schedule = in_strips()
    assert schedule is not None
    assert_computes(scop, *schedule.trace)


def test_lanes_run_across_the_columns_of_a_strip():
    _, schedule = in_strips()
    assert schedule is not None
    lanes = [b.members for b in bands(schedule.tree) if b.members[-1].kind is LoopKind.VECTOR]
    assert [[m.name for m in members] for members in lanes] == [["i", "j"], ["i", "j"]]
    assert sum(m.kind is LoopKind.PARALLEL for b in bands(schedule.tree) for m in b.members) == 1


@pytest.mark.parametrize(
    "make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi, scops.planes]
)
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert all(strip_columns(schedule, band.label, SMALL) is None for band in bands(schedule.tree))


def orthogonal(A: po.f64["N,M"], R: po.f64["M,M"]):
    n, m = A.shape
    for k in range(m):
        for i in range(n):
            R[k, k] += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(R[k, k])
        for i in range(n):
            A[i, k] /= R[k, k]
        for j in range(k + 1, m):
            for i in range(n):
                R[k, j] += A[i, k] * A[i, j]
            for i in range(n):
                A[i, j] -= A[i, k] * R[k, j]


@pytest.mark.toolchain
def test_compiled_bit_for_bit():
    A, R = np.random.default_rng(0).random((41, 71)), np.zeros((71, 71))
    other = (A.copy(), R.copy())
    kernel = po.kernel(orthogonal)
    kernel(A, R)
    po.kernel(orthogonal, schedule="source")(*other)
    assert np.array_equal(A, other[0])
    assert np.array_equal(R, other[1])
    assert "R_acc" in kernel.compile(A, R).source
