"""Transposes in tiles: which nests are some, what becomes of them, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.transpose_tiling import tile_transpose
from tests import scops
from tests.checks import assert_computes
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings

CASES = {
    "rows": ("C[i, j] = A[j, i]", "i j"),
    "columns": ("C[j, i] = A[i, j]", "i j"),
    "with another": ("C[i, j] = A[j, i] + B[i, j]", "i j"),
    "batch": ("D[b, i, j] = E[b, j, i]", "b i j"),
}
ARRAYS = "A[N, N]; B[N, N]; C[N, N]; D[N, N, N]; E[N, N, N]"


def nest(statement, loops):
    lines = [f"{'    ' * depth}for {name} in range(N):" for depth, name in enumerate(loops.split())]
    return read("\n".join([*lines, "    " * len(lines) + statement]), ARRAYS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_results_in_tiles(name):
    scop = nest(*CASES[name])
    found = tile_transpose(source_schedule(scop), "L0", Machine())
    assert found is not None
    assert "tile(" in " ".join(map(str, found.trace))
    assert_computes(scop, *found.trace)


def test_the_write_lies_along_the_inner_loop_of_a_line():
    found = tile_transpose(source_schedule(nest(*CASES["columns"])), "L0", Machine())
    assert found is not None
    assert [str(step) for step in found.trace] == [
        "interchange(L0[0], L0[1])",
        "tile(L0, 8, 256)",
        "parallelize(L0.tile[0])",
    ]


@pytest.mark.parametrize(("l1", "length"), [(16 * 1024, 128), (64 * 1024, 512)])
def test_the_lines_of_a_tile_take_half_of_the_first_cache(l1, length):
    scop = nest(*CASES["rows"])
    found = tile_transpose(source_schedule(scop), "L0", Machine(l1=l1))
    assert found is not None
    assert f"tile(L0, 8, {length})" in map(str, found.trace)


@pytest.mark.parametrize(
    "statement", ["C[i, j] = A[i, j]", "C[i, j] = A[i, 0] + B[0, j]", "C[i, j] = C[j, i]"]
)
def test_other_statements_are_left(statement):
    assert tile_transpose(source_schedule(nest(statement, "i j")), "L0", Machine()) is None


@pytest.mark.parametrize("make", [scops.gemm, scops.seidel, scops.solve, scops.jacobi])
def test_other_nests_are_left(make):
    schedule = source_schedule(make())
    assert all(
        tile_transpose(schedule, band.label, Machine()) is None for band in bands(schedule.tree)
    )


def mirrored(C: po.i32["N,N"]):
    for i in range(C.shape[0]):
        for j in range(i + 1, C.shape[0]):
            C[j, i] = C[i, j]


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 129])
def test_compiled(size):
    C = np.arange(size * size, dtype=np.int32).reshape(size, size)
    want = np.triu(C) + np.triu(C, 1).T
    po.kernel(mirrored)(C)
    assert np.array_equal(C, want)
