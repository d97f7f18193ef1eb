"""Matrix products and their relatives: which loops play which part, and the tiles."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.contraction import Roles, contraction, find_roles
from tests import scops
from tests.checks import assert_computes, story
from tests.reading import read
from tests.texts import bare

SMALL = Machine(vector_bytes=8, vector_registers=8, l1=256, l2=512)


def product(target, left, right, arrays, loops="ijk"):
    nest = "".join(f"{'    ' * n}for {it} in range({'NMKT'[n]}):\n" for n, it in enumerate(loops))
    body = f"{'    ' * len(loops)}{target} += {left} * {right}"
    return read(nest + body, arrays, "N M K T")


NN = ("C[i, j]", "A[i, k]", "B[k, j]", "C[N, M]; A[N, K]; B[K, M]")
TN = ("C[i, j]", "A[k, i]", "B[k, j]", "C[N, M]; A[K, N]; B[K, M]")
NT = ("C[i, j]", "A[i, k]", "B[j, k]", "C[N, M]; A[N, K]; B[M, K]")
BATCH = ("C[i, j, k]", "A[i, j, l]", "B[i, l, k]", "C[N, M, K]; A[N, M, T]; B[N, T, K]", "ijkl")
RANK = ("C[i, j]", "x[i]", "y[j]", "C[N, M]; x[N]; y[M]", "ij")
MATVEC = ("y[i]", "A[i, j]", "x[j]", "y[N]; A[N, M]; x[M]", "ij")


def test_roles():
    assert find_roles(source_schedule(product(*NN)), "L0") == Roles((), 0, 1, 2)
    assert find_roles(source_schedule(product(*TN)), "L0") == Roles((), 0, 1, 2)
    assert find_roles(source_schedule(product(*BATCH)), "L0") == Roles((0,), 1, 2, 3)


@pytest.mark.parametrize("case", [RANK, MATVEC])
def test_two_loops_are_no_contraction(case):
    assert find_roles(source_schedule(product(*case)), "L0") is None


def test_a_strided_operand():
    """The column loop needs a contiguous result; an operand it strides over can be packed."""
    assert find_roles(source_schedule(product(*NT)), "L0") == Roles((), 0, 1, 2)
    columns = product("C[j, i]", "A[i, k]", "B[j, k]", "C[M, N]; A[N, K]; B[M, K]")
    assert find_roles(source_schedule(columns), "L0") == Roles((), 1, 0, 2)


def test_an_operand_of_both_result_loops_is_no_contraction():
    """Nothing is reused: every product is used once."""
    scop = product("C[i, j]", "A[i, j, k]", "x[k]", "C[N, M]; A[N, M, K]; x[K]")
    assert find_roles(source_schedule(scop), "L0") is None


def test_other_nests_are_no_contraction():
    for make in (scops.seidel, scops.transposed, scops.planes, scops.ordered_gemm):
        assert find_roles(source_schedule(make()), "L0") is None


def test_golden(golden):
    schedule = contraction(source_schedule(scops.gemm()), "L0", Machine())
    assert schedule is not None
    golden("schedule/contraction_gemm.tree", story(scops.gemm(), *schedule.trace))


LOWER = ("for i in range(N):", "for k in range(i):", "for j in range(M):")
AFTER = ("for i in range(N):", "for k in range(i + 1, N):", "for j in range(M):")


def triangle(loops, statement, arrays):
    nest = "".join(f"{'    ' * n}{line}\n" for n, line in enumerate(loops))
    scop = read(f"{nest}            {statement}", arrays, "N M")
    (found,) = scop.statements
    ordered = replace(found, reduction=replace(found.reduction, reassociable=False))
    return replace(scop, statements=(ordered,))


@pytest.mark.parametrize(
    "loops, statement, last",
    [
        (LOWER, "C[i, j] += A[i, k] * B[k, j]", "separate(L0.point.tile,"),
        (LOWER, "C[k, j] += A[i, k] * B[i, j]", "reorder(L0.tile,"),
        (AFTER, "B[i, j] += A[k, i] * B[k, j]", "reorder(L0.point.tile,"),
    ],
)
def test_triangles(loops, statement, last):
    """Whole tiles run before, after or between those on the diagonal, as the order of sums asks."""
    scop = triangle(loops, statement, "C[N, M]; A[N, N]; B[N, M]")
    start = source_schedule(scop)
    schedule = contraction(start, "L0", replace(SMALL, l2=2048))
    assert schedule is not None
    assert any(str(step).startswith(last) for step in schedule.trace)
    assert_computes(scop, *schedule.trace)


@pytest.mark.parametrize("case", [NN, TN, NT, BATCH])
def test_same_results_with_tiles_that_are_filled(case):
    scop = product(*case)
    schedule = contraction(source_schedule(scop), "L0", SMALL)
    assert schedule is not None
    assert_computes(scop, *schedule.trace)


def test_marks():
    schedule = contraction(source_schedule(scops.gemm()), "L0", Machine())
    assert schedule is not None
    found = {m.kind for b in bands(schedule.tree) for m in b.members}
    assert found >= {LoopKind.PARALLEL, LoopKind.UNROLL, LoopKind.VECTOR}


@pytest.mark.parametrize(
    "machine",
    [Machine(), Machine(vector_bytes=64, vector_registers=32), Machine(vector_bytes=16), SMALL],
)
def test_register_tiles_fit(machine):
    """Accumulators, a row of the column operand and a broadcast fit the registers."""
    schedule = contraction(source_schedule(scops.gemm()), "L0", machine)
    assert schedule is not None
    tile = next(step for step in schedule.trace if str(step).startswith("tile(L0.point"))
    rows, columns = (int(word) for word in str(tile).rstrip(")").split(",")[1:3])
    vectors = columns * 8 // machine.vector_bytes
    assert columns * 8 % machine.vector_bytes == 0
    assert rows * vectors + vectors + 1 <= machine.vector_registers


def plain(C, A, B):
    C[:] = A @ B


def rows_across(C, A, B):
    C[:] = A.T @ B


def columns_across(C, A, B):
    C[:] = A @ B.T


def in_order(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


EDGES = [(0, 3, 4), (1, 1, 1), (5, 0, 7), (8, 8, 24), (9, 385, 25), (7, 40, 193), (509, 17, 23)]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (plain, np.float32),
        (rows_across, np.float64),
        (columns_across, np.float64),
        (in_order, np.float64),
    ],
)
def test_blocks_of_panels_at_their_edges(function, dtype, rng):
    """Sizes at and beside those of tiles; loops in strict mode bit for bit."""
    kernel = po.kernel(function)
    for n, k, m in EDGES:
        a, b = rng.random((n, k)).astype(dtype), rng.random((k, m)).astype(dtype)
        left = a.T.copy() if function is rows_across else a
        right = b.T.copy() if function is columns_across else b
        start = np.full((n, m), 1 if function is in_order else 7, dtype)
        found = start.copy()
        kernel(found, left, right)
        if function is in_order:
            for term in range(k):
                start += a[:, term : term + 1] * b[term : term + 1]
            assert np.array_equal(found, start)
        else:
            bound = 1e-4 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=bound)


@pytest.mark.toolchain
def test_a_block_is_packed_once_for_all_rows_and_read_by_those_left_over(wide_machine):
    """Rows left over run in pairs and one by one; columns left over are in no panel."""
    types = (po.f64["n,m"], po.f64["n,k"], po.f64["k,m"])
    source = bare(po.kernel(plain).compile(*types).source)
    (declared,) = (line for line in source.splitlines() if "double B_panel[" in line)
    assert declared.count("[") == 3
    _, left_over = source.split("for (int64_t i_tile3 =", maxsplit=1)
    whole_columns, *others = left_over.split("for (int64_t j_tile3")
    pairs, single_rows = whole_columns.split("for (int64_t k =")[1:]
    assert "B_from" in pairs  # the panel, or B itself where little is read of it
    assert "B_from" in single_rows
    assert others
    assert not any("B_panel[" in other or "B_from" in other for other in others)


@pytest.mark.toolchain
def test_what_is_left_of_rows_times_rows_is_in_the_last_panel(wide_machine):
    """Sums read panels alone; a panel is filled in squares that are transposed in registers."""
    types = (po.f64["n,m"], po.f64["n,k"], po.f64["m,k"])
    source = bare(po.kernel(columns_across).compile(*types).source)
    _, tiled = source.split("double B_panel[", maxsplit=1)
    assert "po_turn" in tiled
    assert not re.search(r"fma\w*\([^;]*\bB\[", tiled.split("int polyopt_")[0])


@pytest.mark.toolchain
def test_what_is_left_of_rows_times_rows_of_known_sizes_is_several_sums_at_a_time(wide_machine):
    """Squares of sums, then single ones; the block is packed for full tiles alone."""
    types = (po.f64["50,70"], po.f64["50,60"], po.f64["70,60"])
    source = bare(po.kernel(columns_across).compile(*types).source)
    nests = re.split(r"for \(int64_t k = .*\n", source)
    sums = {len(re.findall(r"C_acc\d* = fma\(", nest.partition("}")[0])) for nest in nests}
    assert max(sums) >= 8


@pytest.mark.toolchain
def test_rows_left_over_of_a_strip_run_four_at_a_time_then_one_by_one(wide_machine):
    types = (po.f64["n,m"], po.f64["n,k"], po.f64["k,m"])
    source = bare(po.kernel(plain).compile(*types).source)
    _, *strips = source.split("for (int64_t j_tile3")
    nests = [re.split(r"for \(int64_t k = .*\n", strip)[1:] for strip in strips]
    sums = {nest.partition("}")[0].count("po_fma_f64x8(") for part in nests for nest in part}
    assert {1, 4} <= sums
    assert 2 not in sums
