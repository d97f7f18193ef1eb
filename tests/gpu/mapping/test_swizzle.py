"""Swizzle: blocks in groups of rows, where a schedule asks for it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ScheduleError
from polyopt.schedule import source_schedule
from polyopt.transforms import Grid, Swizzle, Tile, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_round_trip
from tests.texts import bare

GRID = "tile(L0, 4, 4); threads(L0.point[0], L0.point[1]); grid(L0.tile[0], L0.tile[1])"
STEPS = f"{GRID}; swizzle(L0.tile[0], L0.tile[1], 8)"


def scale(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2 * A[i, j]


def test_it_marks_the_rows():
    schedule = assert_computes(
        scops.gemm(), Tile("L0", (4, 4)), Grid(("L0.tile",)), Swizzle("i_tile", "j_tile", 3)
    )
    assert "i_tile = floor(i/4):  [L0.tile[0]]  # block, groups of 3" in str(schedule)
    assert_round_trip(Swizzle("i_tile", "j_tile", 3))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("grid(i, j); swizzle(i, j, 1)", "PO0303", "group of 1"),
        ("grid(i, j); swizzle(j, i, 2)", "PO0336", "last two"),
        ("grid(i); swizzle(i, j, 2)", "PO0336", "last two"),
        ("swizzle(i, j, 2)", "PO0336", "last two"),
        ("grid(i, j); swizzle(i, k, 2)", "PO0304", "neighbours"),
        ("strip(i, 4); grid(L0[0], L0[1], L0[2]); swizzle(L0[0], L0[1], 2)", "PO0336", "last two"),
        ("grid(i, j); swizzle(i, j)", "PO0323", "arguments"),
    ],
)
def test_refusals(text: str, code: str, words: str):
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.gemm()).apply(*parse_steps(text))
    assert refused.value.code == code
    assert words in str(refused.value)


def tiles_read(source: str, rows: int, columns: int, running: int) -> int:
    """Return how many rows and columns the first blocks have, numbered as the text does."""
    lines = re.findall(r"const long long (first|rows|number|by|bx) = (.*?);", bare(source), re.S)
    seen: tuple[set[int], set[int]] = (set(), set())
    for block in range(running):
        sizes = {"gridDim.x": columns, "gridDim.y": rows}
        sizes |= {"blockIdx.x": block % columns, "blockIdx.y": block // columns}
        values: dict[str, int] = {}
        for name, text in lines:
            for word, size in sizes.items():
                text = text.replace(f"(long long){word}", str(size))
            code = " ".join(text.split()).replace("/", "//").replace("po_min", "min")
            values[name] = eval(code, {}, values)
        seen[0].add(values.get("by", block // columns))
        seen[1].add(values.get("bx", block % columns))
    return len(seen[0]) + len(seen[1])


@pytest.mark.toolchain
def test_blocks_start_in_groups_only_where_asked_for():
    A = np.arange(130, dtype=np.float32).reshape(10, 13)
    read = []
    for steps in (GRID, STEPS):
        kernel = po.kernel(target="cuda", device="emulated", schedule=steps)(scale)
        B = np.zeros_like(A)
        kernel(A, B)
        assert np.array_equal(B, 2 * A)
        read.append(tiles_read(kernel.compile(A, B).source, 64, 64, 128))
    assert read == [2 + 64, 8 + 16]


def add_all(A, B):
    for a in range(A.shape[0]):
        for b in range(A.shape[1]):
            for c in range(A.shape[2]):
                for d in range(A.shape[3]):
                    for e in range(A.shape[4]):
                        B[a, b, c, d, e] = A[a, b, c, d, e] + 1


@pytest.mark.toolchain
@pytest.mark.parametrize("steps", ["grid(L0)", "grid(L0); swizzle(d, e, 2)"])
def test_a_grid_of_many_loops_is_counted_along_one(steps: str):
    kernel = po.kernel(target="cuda", device="emulated-fast", schedule=steps)(add_all)
    for shape in ((2, 3, 2, 5, 3), (1, 1, 1, 1, 1), (2, 0, 3, 1, 2)):
        A = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
        B = np.zeros_like(A)
        kernel(A, B)
        assert np.array_equal(B, A + 1)
