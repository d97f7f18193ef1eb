"""Rows that accumulate products, expanded to a matrix, their terms skewed."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.strategy.auto import auto_schedule, count_tiled_contractions
from polyopt.strategy.reduction_skewing import skew_terms
from polyopt.strategy.row_expansion import expand_rows, product_rows
from polyopt.transforms import Affine, Expand, Fusion, Interchange, LayOut, Skew
from tests import scops
from tests.checks import assert_computes
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=8, vector_registers=8, l1=128, l2=512)
TRIANGLE = """
    for i in range(N):
        for j in range(M):
            t[j] = 0.0
        for j in range(M):
            for k in range(N - i - 1):
                t[j] += A[i + k + 1, i] * B[i + k + 1, j]
        for j in range(M):
            B[i, j] = B[i, j] + t[j]
    """
FACTOR = """
    for j in range(N):
        for i in range(N - j):
            t[i] = 0.0
        for i in range(N - j):
            for k in range(j):
                t[i] += A[i + j, k] * A[j, k]
        for i in range(N - j):
            A[i + j, j] = A[i + j, j] - t[i]
        for i in range(N - j - 1):
            A[i + j + 1, j] = A[i + j + 1, j] * A[j, j]
    """
CARRIED = """
    for i in range(N):
        for j in range(M):
            for k in range(N):
                t[j] += A[i, k] * B[k, j]
        for j in range(M):
            C[i, j] = t[j]
    """
VECTORS = """
    for i in range(N):
        for j in range(M):
            for k in range(N):
                t[k] = 0.0
                for l in range(N):
                    t[k] += A[i, j, l] * B[l, k]
            for k in range(N):
                A[i, j, k] = t[k]
    """
STEPS = """
    for i in range(M):
        for j in range(N):
            for k in range(N):
                t[j, k] = 0.0
                for l in range(N):
                    t[j, k] += A[j, l] * B[l, k]
        for j in range(N):
            for k in range(N):
                A[j, k] = t[j, k]
    """
CASES = {
    "vectors": (VECTORS, "A[N, M, N]; B[N, N]; temp t[N]"),
    "triangle": (TRIANGLE, "A[N, N]; B[N, M]; temp t[M]"),
    "factor": (FACTOR, "A[N, N]; temp t[N]"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_results_in_register_tiles(name):
    scop = read(*CASES[name], "N M")
    assert product_rows(scop) == ["t"]
    schedule = auto_schedule(scop, SMALL)
    assert count_tiled_contractions(schedule) == 1
    assert any(isinstance(step, Expand) for step in schedule.trace)
    assert_computes(scop, *schedule.trace)


def test_rows_begin_where_those_of_the_factors_do():
    found = expand_rows(source_schedule(read(*CASES["factor"], "N M")))
    assert found is not None
    assert [str(step) for step in found.trace] == ["expand(t, L0[0])", "layout(t, 0, 1+1*0)"]
    assert [str(extent) for extent in found.scop.array("t").shape] == [
        str(extent) for extent in found.scop.array("A").shape
    ]  # a triangle in a square, no parallelogram


def test_terms_are_counted_as_the_operands_lie():
    rows = expand_rows(source_schedule(read(*CASES["triangle"], "N M")))
    assert rows is not None
    assert not any(isinstance(step, LayOut) for step in rows.trace)
    start = rows.apply(Affine(Fusion.MIN), Interchange("L1[1]", "L1[2]"))
    found = skew_terms(start, "L1")
    assert found is not None
    assert found.trace[-1] == Skew("L1[1]", "L1[0]", 1)
    assert skew_terms(found, "L0") is None


def test_a_row_that_goes_on_is_left():
    scop = read(CARRIED, "A[N, N]; B[N, M]; C[N, M]; temp t[M]", "N M")
    assert product_rows(scop) == ["t"]
    assert expand_rows(source_schedule(scop)) is None


def test_a_matrix_of_each_step_is_left():
    """Its product is one of three loops already."""
    scop = read(STEPS, "A[N, N]; B[N, N]; temp t[N, N]", "N M")
    assert expand_rows(source_schedule(scop)) is None


@pytest.mark.parametrize("make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi])
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert expand_rows(schedule) is None
    assert skew_terms(schedule, "L0") is None


def triangular(U: po.f64["N,N"], X: po.f64["N,M"]):
    for i in range(U.shape[0]):
        X[i] = U[i, i] * X[i] - U[i, i + 1 :] @ X[i + 1 :]


@pytest.mark.toolchain
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (2, 9), (37, 53)])
def test_compiled(sizes):
    n, m = sizes
    rng = np.random.default_rng(n)
    U, X = rng.random((n, n)), rng.random((n, m))
    want = X.copy()
    triangular(U, want)
    po.kernel(triangular)(U, X)
    np.testing.assert_allclose(X, want, rtol=1e-12, atol=1e-12)
