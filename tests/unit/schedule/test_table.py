"""The table of a schedule's loops: how each runs, its iterations, what it carries."""

from __future__ import annotations

from polyopt.schedule import Schedule, source_schedule
from polyopt.transforms import Parallelize, Tile, Vectorize
from tests import scops


def rows(plan: Schedule) -> list[tuple[str, ...]]:
    """Return the cells of the table below its headings, without indentation."""
    first, *lines = plan.table().splitlines()
    starts = [first.index(word) for word in ("runs", "iterations", "carries", "statements")]
    bounds = list(zip([0, *starts], [*starts, None], strict=True))
    return [tuple(line[a:b].strip() for a, b in bounds) for line in lines]


def test_table_of_tiles():
    tiled = source_schedule(scops.gemm()).apply(
        Tile("L0", (4, 8)), Parallelize("i_tile"), Vectorize("L0.point[1]")
    )
    assert rows(tiled) == [
        ("i_tile     L0.tile[0]", "parallel", "(N + 3) // 4", "", "S0"),
        ("j_tile   L0.tile[1]", "in order", "(M + 7) // 8", "", "S0"),
        ("i      L0.point[0]", "in order", "4", "", "S0"),
        ("j    L0.point[1]", "vector", "8", "", "S0"),
        ("k  L0.point[2]", "in order", "K", "a reduction", "S0"),
    ]


def test_table_of_a_loop_over_time():
    assert [row[1:] for row in rows(source_schedule(scops.jacobi()))] == [
        ("in order", "T", "dependences", "S0, S1"),
        ("in order", "N - 2", "", "S0"),
        ("in order", "N - 2", "", "S0"),
        ("in order", "N - 2", "", "S1"),
        ("in order", "N - 2", "", "S1"),
    ]


def test_iterations_of_a_loop_with_a_stride():
    """Every second column: half of them, not the distance of the last from the first."""
    assert rows(source_schedule(scops.backward()))[1][2] == "(M + 1) // 2"


def test_a_nest_that_never_runs():
    assert rows(source_schedule(scops.nowhere()))[1][2] == "0"
