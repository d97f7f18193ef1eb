"""Tile: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands, find_band
from polyopt.transforms import Parallelize, Skew, Tile, Unroll, Vectorize
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read


def test_golden(golden):
    golden("schedule/tile_gemm.tree", story(scops.gemm(), Tile("L0", (32, 4))))


def test_golden_of_a_loop_that_counts_down(golden):
    golden("schedule/tile_backward.tree", story(scops.backward(), Tile("L0", (2, 4))))


@pytest.mark.parametrize(
    ("scop", "sizes"),
    [
        (scops.gemm, (2, 3, 4)),
        (scops.gemm, (5,)),
        (scops.seidel, (3, 2)),
        (scops.backward, (2, 3)),
        (scops.transposed, (4, 4)),
        (scops.nowhere, (3,)),
        (scops.gemm, (1, 1, 1)),
        (scops.prefix, (100,)),
    ],
)
def test_same_results(scop, sizes):
    assert_computes(scop(), Tile("L0", sizes))


def test_tiling_twice():
    steps = (Tile("L0", (4, 4)), Tile("L0.point", (2, 3)))
    schedule = assert_computes(scops.gemm(), *steps)
    assert [m.name for m in find_band(schedule.tree, "L0.point.point").members] == ["i", "j", "k"]
    golden = find_band(schedule.tree, "L0.point.tile").members
    assert [m.name for m in golden] == ["i_tile", "j_tile"]


def test_four_levels():
    steps = [Tile("L0" + ".point" * level, (8 // 2**level + 1, 3)) for level in range(4)]
    schedule = assert_computes(scops.transposed(), *steps, Parallelize("L0.tile[0]"))
    assert [band.label for band in bands(schedule.tree)] == [
        "L0.tile",
        "L0.point.tile",
        "L0.point.point.tile",
        "L0.point.point.point.tile",
        "L0.point.point.point.point",
    ]


def test_a_stencil_is_tiled_after_its_skew():
    assert_illegal(scops.diagonal(), "PO0311", Tile("L0", (2, 2)))
    assert_computes(scops.diagonal(), Skew("j", "i", 1), Tile("L0", (2, 2)))


def test_witness_of_a_reversed_dependence():
    error, witness = assert_illegal(scops.diagonal(), "PO0311", Tile("L0", (2, 2)))
    assert witness.kind == "flow"
    assert witness.array == "A"
    assert witness.source == ("S0", (2, 2))
    assert witness.target == ("S0", (3, 1))
    assert witness.cell == (2, 2)
    assert dict(witness.params) == {"N": 4}
    assert error.hint == "legal with a loop reversed: reverse(j); tile(L0, 2, 2)"
    assert "reverses a dependence at loop `j_tile`" in error.message


def test_round_trip():
    assert_round_trip(Tile("L0", (32,)), Tile("L0.point", (1, 2, 3)))


def test_marks_of_point_loops():
    steps = (Unroll("k"), Parallelize("i"), Vectorize("j"), Tile("L0", (2, 2, 2)))
    schedule = source_schedule(scops.gemm()).apply(*steps)
    kinds = [m.kind for m in find_band(schedule.tree, "L0.point").members]
    assert kinds == [LoopKind.SEQUENTIAL, LoopKind.SEQUENTIAL, LoopKind.UNROLL]
    assert all(m.kind is LoopKind.SEQUENTIAL for m in find_band(schedule.tree, "L0.tile").members)


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (Tile("L9", (4,)), "PO0301", "no band is called `L9`"),
        (
            Tile("L0", (2, 2, 2)),
            "PO0303",
            "tile(L0, 2, 2, 2): band L0 has 2 loops, 3 sizes were given",
        ),
        (Tile("L0", ()), "PO0303", "tile(L0): band L0 has 2 loops, 0 sizes were given"),
        (Tile("L0", (0,)), "PO0303", "tile(L0, 0): a tile size must be at least 1"),
        (
            Tile("L0", (2**31,)),
            "PO0303",
            "tile(L0, 2147483648): a tile size must be at most 2147483647",
        ),
        (Tile("L0", (4, -1)), "PO0303", "tile(L0, 4, -1): a tile size must be at least 1"),
    ],
)
def test_refusals(step, code, message):
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.seidel()).apply(step)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_large_sizes():
    """The judge and the lowering see one tile; nothing overflows on the way to isl."""
    assert_computes(scops.prefix(), Tile("L0", (2**31 - 1,)))


def test_domains_with_holes():
    scop = read(
        """
        for i in range(0, N, 3):
            for j in range(i, N, 2):
                A[i, j] = A[i, j] + 1
        """,
        "A[N, N]",
    )
    assert_computes(scop, Tile("L0", (4, 5)))
