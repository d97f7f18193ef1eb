"""Intervals in blocks: which nests are some, what becomes of them, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.intervals import intervals
from polyopt.transforms import Affine, Embed, Fusion, Separate, parse_steps
from tests import scops

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=16, vector_registers=8, l1=128, l2=512)  # blocks of four


def pairs(seq: po.i32["N"], t: po.i32["N,N"]):
    N = t.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            t[i, j] = max(t[i, j], t[i, j - 1])
            t[i, j] = max(t[i, j], t[i + 1, j])
            if j > i + 1:
                t[i, j] = max(t[i, j], t[i + 1, j - 1] + (1 if seq[i] == seq[j] else 0))
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


def columns(seq: po.i64["N"], t: po.i64["N,N"]):
    N = t.shape[0]
    for j in range(N):
        for i in range(j - 1, -1, -1):
            t[i, j] = t[i, j] ^ (seq[i] * 3)
            for k in range(i, j):
                t[i, j] = t[i, j] ^ (t[i, k] & t[k + 1, j])


def beside(seq: po.i64["N"], t: po.i64["N,N"]):
    """The columns are one to the right of the loop over them."""
    N = t.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i, N - 1):
            t[i, j + 1] = max(t[i, j + 1], seq[i])
            for k in range(i, j + 1):
                t[i, j + 1] = max(t[i, j + 1], t[i, k] + t[k + 1, j + 1])


def rounded(seq: po.f64["N"], t: po.f64["N,N"]):
    N = t.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            for k in range(i, j):
                t[i, j] = t[i, j] + t[i, k] * t[k + 1, j]


def one_operand(seq: po.i64["N"], t: po.i64["N,N"]):
    N = t.shape[0]
    for i in range(N):
        for j in range(1, N):
            for k in range(j):
                t[i, j] = max(t[i, j], t[i, k] + seq[k])


SOME = (pairs, columns, beside)


def in_blocks(function):
    start = source_schedule(build(function, infer_types(function)).scop)
    start = start.apply(Affine(Fusion.MIN))
    found = (intervals(start, band.label, SMALL) for band in bands(start.tree))
    return next((one for one in found if one is not None), None)


@pytest.mark.parametrize("function", SOME)
def test_far_splits_are_a_product_in_registers(function):
    schedule = in_blocks(function)
    assert schedule is not None
    (embed,) = (step for step in schedule.trace if isinstance(step, Embed))
    assert sum(isinstance(step, Separate) for step in schedule.trace) == 1
    assert parse_steps(str(embed)) == (embed,)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", SOME)
def test_small_blocks_bit_for_bit(function):
    """Each step of the text is judged by itself."""
    schedule = in_blocks(function)
    assert schedule is not None
    compiled = po.kernel(schedule=schedule.text, threads=2)(function)
    for size in (0, 1, 2, 4, 5, 9, 17, 22):
        _compare(compiled, function, size)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", SOME)
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_compiled_bit_for_bit(function, fp):
    compiled = po.kernel(fp=fp, threads=2)(function)
    assert "embed(" in compiled.compile().schedule_text
    for size in (0, 1, 63, 64, 65, 131):
        _compare(compiled, function, size)


def _compare(compiled, function, size):
    dtype = "int32" if function is pairs else "int64"
    rng = np.random.default_rng(size)
    seq = rng.integers(0, 4, size).astype(dtype)
    array = rng.integers(-99, 99, (size, size)).astype(dtype)
    want = array.copy()
    function(seq.copy(), want)
    compiled(seq, array)
    assert np.array_equal(array, want)


@pytest.mark.parametrize("function", [rounded, one_operand])
def test_sums_that_round_and_prefixes_are_left(function):
    assert in_blocks(function) is None


@pytest.mark.parametrize("make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi])
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert all(intervals(schedule, band.label, SMALL) is None for band in bands(schedule.tree))
