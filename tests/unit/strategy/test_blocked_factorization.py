"""Eliminations in blocks: which nests are some, what becomes of them, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy.blocked_factorization import block_factorization
from polyopt.transforms import Affine, Fusion, Separate, Split, Strip
from tests import scops
from tests.checks import assert_computes
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=8, vector_registers=8, l1=128, l2=512)  # blocks of four steps

LU = """
    for k in range(N):
        for i in range(k + 1, N):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, N):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]
    """
CHOLESKY = """
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] = A[i, j] - A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k in range(i):
            A[i, i] = A[i, i] - A[i, k] * A[i, k]
        A[i, i] = A[i, i] * 0.5
    """
SOLVE = """
    for i in range(N):
        for j in range(M):
            for k in range(i):
                B[i, j] = B[i, j] - L[i, k] * B[k, j]
            B[i, j] = B[i, j] / L[i, i]
    """
VECTOR = """
    for i in range(N):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    """
CASES = {
    "vector": (VECTOR, "x[N]; L[N, N]"),
    "lu": (LU, "A[N, N]"),
    "cholesky": (CHOLESKY, "A[N, N]"),
    "solve": (SOLVE, "B[N, M]; L[N, N]"),
}


def in_blocks(text, arrays, cores=1):
    scop = read(text, arrays, "N M")
    start = source_schedule(scop).apply(Affine(Fusion.MIN))
    return scop, block_factorization(start, "L0", replace(SMALL, cores=cores))


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_results(name):
    scop, schedule = in_blocks(*CASES[name])
    assert schedule is not None
    assert_computes(scop, *schedule.trace)


def test_the_rest_of_a_block_is_a_product():
    _, schedule = in_blocks(*CASES["lu"])
    assert schedule is not None
    assert sum(isinstance(step, Split) for step in schedule.trace) == 3
    (full,) = (step for step in schedule.trace if isinstance(step, Separate))
    assert full.sizes == (4, 2)
    kinds = [m.kind for band in bands(schedule.tree) for m in band.members]
    assert kinds.count(LoopKind.PARALLEL) == 3  # rows, columns, and what is left
    assert kinds.count(LoopKind.UNROLL) == kinds.count(LoopKind.VECTOR) == 1


def test_rows_of_unknowns_run_some_at_a_time():
    """Below a block a row waits for its own earlier columns alone: four rows are abreast."""
    _, found = in_blocks(*CASES["cholesky"])
    rows = find_band(found.tree, "L0.inner.high.low.inner.point.0").members
    assert [member.kind for member in rows] == [LoopKind.SEQUENTIAL, LoopKind.UNROLL]
    assert Separate("L0.inner.high.low.inner.tile", "L0.inner.high.low.inner.point", (4,)) in (
        found.trace
    )


def test_rows_below_a_block_take_each_step_some_at_a_time():
    """The step is outside of the rows of a tile: they do not wait for one another."""
    _, found = in_blocks(*CASES["lu"])
    text = [str(step) for step in found.trace]
    assert "tile(L0.inner.high.low.inner, 4)" in text
    point = find_band(found.tree, "L0.inner.high.low.inner.point")
    assert [member.coincident for member in point.members[:2]] == [False, True]
    assert not any("low.high.inner.point" in step for step in text)  # these are along rows already


@pytest.mark.parametrize(
    "make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi, scops.planes]
)
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert all(
        block_factorization(schedule, band.label, SMALL) is None for band in bands(schedule.tree)
    )


def factor(A: po.f32["N,N"]):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


@pytest.mark.toolchain
def test_compiled_bit_for_bit():
    """Packed, in registers, and proven: no form of the loops is dropped."""
    kernel = po.kernel(factor)
    rows = np.random.default_rng(0).random((131, 131), dtype=np.float32)
    A = rows @ rows.T + 131 * np.eye(131, dtype=np.float32)
    want = A.copy()
    po.kernel(factor, schedule="source")(want)
    compiled = kernel.compile(A)
    compiled(A)
    assert np.array_equal(A, want)
    text = compiled.source
    assert "A_panel" in text
    assert "A_acc" in text


VECTOR = """
    for i in range(N):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    """


def test_one_right_side_has_blocks_of_blocks():
    """The triangle of a wide block is in blocks once more; their loops have names of their own."""
    _, schedule = in_blocks(VECTOR, "x[N]; L[N, N]", cores=4)
    assert schedule is not None
    assert [s.size for s in schedule.trace if isinstance(s, Strip)] == [16, 4]
    assert [str(s.at) for s in schedule.trace if isinstance(s, Split)] == [
        "16 * j_tile + 16",
        "4 * j_tile2 + 4",
    ]
    assert_computes(read(VECTOR, "x[N]; L[N, N]"), *schedule.trace)


def substitute(L: po.f64["N,N"], x: po.f64["N"]):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


@pytest.mark.toolchain
@pytest.mark.parametrize("threads", [1, 2])
def test_one_right_side_bit_for_bit(threads):
    compiled = po.kernel(threads=threads)(substitute)
    for size in (0, 1, 15, 64, 65, 255, 256, 257, 335):
        rng = np.random.default_rng(size)
        L = rng.random((size, size)) + size * np.eye(size)
        x = rng.random(size)
        want = x.copy()
        substitute(L, want)
        compiled(L, x)
        assert np.array_equal(x, want)


def by_rows_and_columns(A: po.f64["N,N"]):
    for i in range(A.shape[0]):
        A[i, i:] -= A[i, :i] @ A[:i, i:]
        A[i + 1 :, i] = (A[i + 1 :, i] - A[i + 1 :, :i] @ A[:i, i]) / A[i, i]


@pytest.mark.toolchain
def test_rows_and_columns_of_a_block_run_apart():
    """Threads share one loop: of rows of the one, of columns of the other."""
    compiled = po.kernel(fp="reassociate", threads=2)(by_rows_and_columns)
    assert "distribute(L0.inner.low.high, 0, -2)" in compiled.compile().schedule_text
    for size in (1, 63, 64, 65, 150):
        array = np.random.default_rng(size).random((size, size)) + size * np.eye(size)
        want = array.copy()
        by_rows_and_columns(want)
        compiled(array)
        np.testing.assert_allclose(array, want, rtol=1e-12, atol=1e-12)


@pytest.mark.toolchain
def test_sums_of_a_substitution_run_in_lanes_where_their_order_is_open():
    """Eight rows at a time, each in a register of partial sums."""
    lines = po.kernel(fp="reassociate", threads=1)(substitute).compile().source.splitlines()
    assert max(line.count("reduction(+") for line in lines) == 8
    strict = po.kernel(threads=1)(substitute).compile().source
    assert "reduction(+" not in strict


def test_one_thread_takes_rows_of_a_vector_from_their_beginning():
    _, schedule = in_blocks(*CASES["vector"])
    assert schedule is not None
    assert [step.size for step in schedule.trace if isinstance(step, Strip)] == [16]
    assert [str(step.at) for step in schedule.trace if isinstance(step, Split)] == ["16 * i_tile"]


@pytest.mark.parametrize("cores, turned", [(4, False), (1, True)])
def test_columns_of_a_vector_and_threads_keep_wide_blocks(cores, turned):
    text = VECTOR.replace("L[i, j]", "L[j, i]") if turned else VECTOR
    _, schedule = in_blocks(text, "x[N]; L[N, N]", cores)
    assert schedule is not None
    splits = [step for step in schedule.trace if isinstance(step, Split)]
    assert str(splits[0].at) == "16 * j_tile + 16"
