"""Blocked closures: recognition, schedules, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.auto import auto_schedule
from polyopt.strategy.semiring_closure import blocked_closure
from polyopt.transforms import Affine, Distribute, Fusion, Separate
from tests import scops
from tests.checks import assert_computes
from tests.reading import read
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=8, vector_registers=8, l1=128, l2=512)  # blocks of four steps

UPDATE = """
    for k in range(N):
        for i in range(N):
            c[i] = A[i, k]
        for j in range(N):
            r[j] = A[k, j]
        for i in range(N):
            for j in range(N):
                A[i, j] = {value}
    """
ARRAYS = "A[N, N]; temp c[N]; temp r[N]"
CASES = {
    "paths": "min(A[i, j], c[i] + r[j])",
    "widest": "max(A[i, j], min(c[i], r[j]))",
    "elimination": "A[i, j] - c[i] * r[j]",
}


def in_blocks(text):
    scop = read(text, ARRAYS)
    start = source_schedule(scop).apply(Affine(Fusion.MIN))
    return scop, blocked_closure(start, "L0", SMALL)


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_results(name):
    scop, schedule = in_blocks(UPDATE.format(value=CASES[name]))
    assert schedule is not None
    assert_computes(scop, *schedule.trace)


def test_what_is_outside_of_the_block_is_four_products():
    _, schedule = in_blocks(UPDATE.format(value=CASES["paths"]))
    assert schedule is not None
    assert sum(isinstance(step, Separate) for step in schedule.trace) == 4
    (apart,) = (step for step in schedule.trace if isinstance(step, Distribute))
    assert apart == Distribute("L0", 1, together=5)  # copies, rows, columns twice


def test_an_update_that_reads_what_the_block_has_changed_is_left():
    text = UPDATE.format(value="min(A[i, j], c[i] + r[j]) + A[j, i]")
    assert in_blocks(text)[1] is None


@pytest.mark.parametrize("make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi])
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert all(
        blocked_closure(schedule, band.label, SMALL) is None for band in bands(schedule.tree)
    )


def paths(path: po.i32["N,N"]):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, None] + path[k])


def reach(edge: po.i64["N,N"]):
    for k in range(edge.shape[0]):
        edge[:] |= edge[:, k, None] & edge[k]


@pytest.mark.toolchain
@pytest.mark.parametrize(("function", "dtype"), [(paths, np.int32), (reach, np.int64)])
def test_compiled_bit_for_bit(function, dtype):
    """Sums wrap, diagonals are negative: no law of the operators is used."""
    compiled = po.kernel(function).compile()
    assert "_panel" in compiled.source
    assert "_acc" in compiled.source
    for size in (0, 1, 64, 131):
        rng = np.random.default_rng(size)
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, (size, size), dtype=dtype)
        want = array.copy()
        with np.errstate(over="ignore"):
            function(want)
        compiled(array)
        assert np.array_equal(array, want)


def beside_a_count(a: po.f64["N,N"]):
    n = 0
    for i in range(a.shape[0]):
        n += 2
        a[:] -= a + n
        a[...] += a[i, i]
    return n


def test_statements_without_a_nest_stay_in_the_block():
    scop = program_of(beside_a_count).scop
    found = auto_schedule(scop, SMALL)
    assert_computes(scop, *found.trace)
