"""Grid and Threads: which loops they mark, and which they refuse."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.ir.annotations import Pipeline as Stages
from polyopt.ir.loops import LoopKind
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands, find_band
from polyopt.transforms import Grid, Pipeline, Strip, Threads, Tile, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip

SEVEN = "tile(L0, 2, 2); " + "strip(L0.tile[0], 2); " * 5 + "grid(L0.tile)"
TILED = (Tile("L0", (4, 3)), Grid(("L0.tile",)), Threads(("L0.point[0]", "L0.point[1]")))


def test_tiles_on_the_grid_points_on_threads() -> None:
    schedule = assert_computes(scops.gemm(), *TILED)
    tile, point = bands(schedule.tree)
    assert [m.kind for m in tile.members] == [LoopKind.BLOCK] * 2
    kinds = [LoopKind.THREAD, LoopKind.THREAD, LoopKind.SEQUENTIAL]
    assert [m.kind for m in point.members] == kinds


def test_text() -> None:
    assert_round_trip(*TILED)
    assert parse_steps("grid(i_tile, j_tile)") == (Grid(("i_tile", "j_tile")),)


def test_a_sum_may_not_be_distributed() -> None:
    error, witness = assert_illegal(scops.gemm(), "PO0312", Grid(("L0",)))
    assert witness.array == "C"
    assert error.hint == "fewer loops are legal: grid(i, j)"
    error, _ = assert_illegal(scops.gemm(), "PO0312", Threads(("k",)))
    assert error.hint == "another loop is legal: threads(i)"


def test_a_wavefront_repairs_a_recurrence() -> None:
    error, _ = assert_illegal(scops.seidel(), "PO0312", Threads(("j",)))
    assert error.hint == "legal after a skew: skew(i, j, 1); threads(j)"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("grid(i, k)", "PO0304", "not neighbours"),
        ("interchange(i, k); grid(L0[1]); grid(L0[2])", "PO0336", "the grid"),
        ("threads(i); grid(j)", "PO0336", "the threads of a block"),
        ("grid(j); grid(i)", "PO0336", "inside it"),
        ("threads(j); threads(i)", "PO0336", "inside it"),
        ("grid(j); threads(i)", "PO0336", "inside it"),
        (SEVEN, "PO0303", "at most"),
        ("grid(q)", "PO0301", "no loop"),
        ("grid()", "PO0323", "grid"),
    ],
)
def test_refusals(text: str, code: str, words: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.gemm()).apply(*parse_steps(text))
    assert refused.value.code == code
    assert words in refused.value.message


def test_strips_of_blocks_are_blocks_and_strips_of_threads_run_in_turn() -> None:
    schedule = assert_computes(scops.gemm(), Grid(("i",)), Threads(("j",)))
    strips = schedule.apply(Strip("i", 4), Strip("j", 4))
    kinds = [m.kind for m in find_band(strips.tree, "L0").members]
    block, thread, in_order = LoopKind.BLOCK, LoopKind.THREAD, LoopKind.SEQUENTIAL
    assert kinds == [block, in_order, in_order, thread, in_order]


PACKED = "tile(L0, 4, 4, 4); pack(A, k_tile); threads(A_in)"


def test_a_pipeline_marks_its_loop() -> None:
    schedule = source_schedule(scops.gemm()).apply(*parse_steps(f"{PACKED}; grid(i_tile)"))
    marked = schedule.apply(Pipeline("k_tile", 3))
    (member,) = [m for band in bands(marked.tree) for m in band.members if m.pipeline is not None]
    assert (member.name, member.pipeline) == ("k_tile", Stages(3, is_async=True))
    assert_round_trip(Pipeline("k_tile", 2), Pipeline("k_tile", 8, is_plain=True))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (f"{PACKED}; pipeline(k_tile, 2)", "PO0341", "not inside a block"),
        (f"{PACKED}; grid(i_tile); pipeline(k_tile, 1)", "PO0341", "1 stages"),
        (f"{PACKED}; grid(i_tile); pipeline(k_tile, 9)", "PO0341", "9 stages"),
        (f"{PACKED}; grid(i_tile); pipeline(j_tile, 2)", "PO0341", "does not begin with copies"),
        (f"{PACKED}; grid(i_tile); pipeline(A_in[0], 2)", "PO0341", "together"),
        ("tile(L0, 4, 4, 4); grid(i_tile); pipeline(k_tile, 2)", "PO0341", "with copies"),
        (
            "tile(L0, 4, 4, 4); pack(C, k_tile); grid(i_tile); pipeline(k_tile, 2)",
            "PO0341",
            "copies",
        ),
        (f"{PACKED}; grid(i_tile); pipeline(L0.tile, 2)", "PO0303", "3 loops"),
        (f"{PACKED}; grid(i_tile); pipeline(k_tile, 2, fast)", "PO0323", "plain"),
    ],
)
def test_refused_pipelines(text: str, code: str, words: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.gemm()).apply(*parse_steps(text))
    assert refused.value.code == code
    assert words in refused.value.message
