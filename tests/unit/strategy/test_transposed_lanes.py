"""Lanes across rows with transposed copies: where they pay, sizes on all sides of a tile."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule.tree import bands
from polyopt.strategy import auto_schedule
from polyopt.transforms import Separate
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

AVX2 = Machine(cores=2, vector_bytes=32)
AVX512 = Machine(cores=2, vector_bytes=64)


def similarities(P: po.f64["N,D"], Q: po.f64["K,D"]):
    apart = P[:, None, :] - Q[None, :, :]
    near = 1.0 / (0.5 + np.sum(apart**2, axis=2))
    return near / np.sum(near, axis=1, keepdims=True)


def scores(P: po.f32["B,N,D"], Q: po.f32["K,D"], out: po.f32["B,N"]):
    for b in range(P.shape[0]):
        for n in range(P.shape[1]):
            out[b, n] = 0.0
            for k in range(Q.shape[0]):
                dot = Q[k, 0] * P[b, n, 0]
                for d in range(1, Q.shape[1]):
                    dot += Q[k, d] * P[b, n, d]
                out[b, n] += dot * dot * dot


def products(A: po.f64["N,5,5"], B: po.f64["N,5,5"], C: po.f64["N,5,5"]):
    for n in range(A.shape[0]):
        for i in range(5):
            for j in range(5):
                total = 0.0
                for k in range(5):
                    total += A[n, i, k] * B[n, k, j]
                C[n, i, j] = total


def full(A: po.f64["N,8,8"], B: po.f64["N,8,8"], C: po.f64["N,8,8"]):
    for n in range(A.shape[0]):
        for i in range(8):
            for j in range(8):
                for k in range(8):
                    C[n, i, j] += A[n, i, k] * B[n, k, j]


def tiny(A: po.f64["N,3,3"], B: po.f64["N,3,3"], C: po.f64["N,3,3"]):
    for n in range(A.shape[0]):
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    C[n, i, j] += A[n, i, k] * B[n, k, j]


def read_once(A: po.f64["N,M,D"], out: po.f64["N"]):
    for n in range(A.shape[0]):
        total = 0.0
        for m in range(A.shape[1]):
            for d in range(A.shape[2]):
                total += A[n, m, d] * A[n, m, d] * A[n, m, d]
        out[n] = total


def neighbours(P: po.f64["N,D"], Q: po.f64["K,D"], out: po.f64["N"]):
    """Rows n and n + 1 are read: a copy for each lane would hold one of them only."""
    for n in range(P.shape[0] - 1):
        for k in range(Q.shape[0]):
            dot = 0.0
            for d in range(P.shape[1]):
                dot += abs(P[n, d] - Q[k, d]) * P[0, d]
            out[n] += dot * dot


@cache
def scheduled(function, machine=AVX2):
    return auto_schedule(program_of(function).scop, machine)


def steps(function, machine=AVX2):
    return scheduled(function, machine).text


@pytest.mark.parametrize(
    ("function", "machine", "rows"),
    [
        (similarities, AVX2, 8),
        (similarities, AVX512, 16),
        (scores, AVX2, 16),
        (products, AVX2, 4),
        (products, AVX512, 8),
    ],
)
def test_a_tile_fills_vectors(function, machine, rows):
    """Two vectors around chains of unknown length, one around unrolled loops."""
    text = steps(function, machine)
    assert f", {rows});" in text
    assert "sink(" in text
    assert "pack(" in text


def test_temporaries_have_a_cell_for_each_lane():
    """Differences need no row, and the loop that makes them is the one that adds them."""
    text = steps(similarities)
    found = scheduled(similarities)
    inside = [band for band in bands(found.tree) if ".lanes" in band.label]
    assert "contract(" in text
    assert len(inside) == 7
    assert found.text.count("layout(") == 1


def test_rows_that_fill_no_tile_have_a_nest_of_their_own():
    """Their sums are in lanes as well: ten long rows take no more time than a row each."""
    found = scheduled(similarities, AVX512)
    assert {"split(L0[0], 16 * (N // 16))", "clone(L0.high)"} <= set(map(str, found.steps))
    rest = [band for band in bands(found.tree) if band.label.endswith(".high")]
    assert any(band.members[-1].kind is LoopKind.VECTOR for band in rest)
    assert not any(isinstance(step, Separate) for step in found.trace)


def test_the_innermost_independent_loop_gets_the_lanes():
    found = scheduled(scores)
    assert "parallelize(L0[0])" in found.text
    assert "pack(P, L0.inner.point.tile[0], 0, 2, 1)" in found.text


@pytest.mark.parametrize("function", [full, tiny, read_once, neighbours])
def test_other_nests_keep_their_lanes(function):
    """Full vectors, few terms for each copied element, rows read once, another row's elements."""
    assert "pack(" not in steps(function, AVX512)


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_sizes_around_a_tile(fp):
    rng = np.random.default_rng(3)
    kernel = po.kernel(similarities, fp=fp, threads=2)
    for n in (0, 1, 7, 8, 16, 33):
        for k in (0, 1, 5):
            for d in (0, 1, 6):
                P, Q = rng.random((n, d)), rng.random((k, d))
                np.testing.assert_allclose(kernel(P, Q), similarities(P, Q), rtol=1e-12)


@pytest.mark.toolchain
@pytest.mark.parametrize("n", [0, 1, 3, 4, 9, 21])
def test_products_of_a_batch(n):
    rng = np.random.default_rng(n)
    A, B, C = rng.random((n, 5, 5)), rng.random((n, 5, 5)), np.full((n, 5, 5), np.nan)
    po.kernel(products, threads=2)(A, B, C)
    np.testing.assert_allclose(C, A @ B, rtol=1e-12)


def weighted(X: po.f32["N,D"], M: po.f32["K,D"], V: po.f32["K,D"]):
    apart = X[:, None, :] - M[None, :, :]
    return np.sum(apart**2 / V, axis=2)


@pytest.mark.toolchain
def test_two_vectors_share_a_reciprocal():
    """The reciprocal is that of a number, before it is in all lanes."""
    rng = np.random.default_rng(5)
    X, M, V = (rng.random(shape, np.float32) + 0.1 for shape in ((77, 6), (5, 6), (5, 6)))
    kernel = po.kernel(weighted, fp="reassociate", threads=1)
    np.testing.assert_allclose(kernel(X, M, V), weighted(X, M, V), rtol=1e-5)
    assert "pack(" in kernel.compile(X, M, V).schedule_text
