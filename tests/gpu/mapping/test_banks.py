"""Bank conflicts, against cases worked out by hand."""

from __future__ import annotations

import pytest

from polyopt.emit.gpu import device_loops
from polyopt.emit.gpu.bank_conflicts import conflict_lines
from polyopt.emit.lower import lower
from polyopt.ir.banks import degree, of_warps
from polyopt.report.padding import paddings
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu, operands, tiles
from tests.gpu.mapping import programs
from tests.oracle.program import as_program

LANES = range(32)


@pytest.mark.parametrize(
    ("places", "width", "turns"),
    [
        ([4 * t for t in LANES], 4, 1),  # neighbours
        ([0] * 32, 4, 1),  # one word for all
        ([8 * t for t in LANES], 4, 2),  # every second word: half of the banks
        ([4 * 32 * t for t in LANES], 4, 32),  # a column of rows of 32 words
        ([4 * 33 * t for t in LANES], 4, 1),  # the same, rows padded by a word
        ([4 * (t % 8) * 32 + 4 * (t // 8) for t in LANES], 4, 8),
        ([2 * t for t in LANES], 2, 1),  # two lanes share a word
        (list(LANES), 1, 1),
        ([8 * t for t in LANES], 8, 1),  # half a warp has all banks
        ([16 * t for t in LANES], 8, 2),
        ([16 * t for t in LANES], 16, 1),  # a quarter of a warp has all banks
        ([32 * t for t in LANES], 16, 2),  # 8 floats a thread, read in halves
        ([16 * (t // 16) for t in LANES], 16, 1),  # two rows of threads, one place each
        ([4 * 4 * 16 * t for t in LANES], 16, 8),  # rows of 64 words
        ([4 * (4 * 16 + 4) * t for t in LANES], 16, 1),  # padded by 16 bytes
        ([], 4, 1),
        ([4 * 32, 0, 4], 4, 2),  # part of a warp
    ],
)
def test_a_warp(places: list[int], width: int, turns: int):
    assert degree(places, width) == turns


def test_the_worst_warp_counts():
    # the first warp reads a row, the second one a column
    assert of_warps(lambda t: 4 * t if t < 32 else 128 * t, 4, 64) == 32
    assert of_warps(lambda t: 4 * t, 4, 48) == 1


def lines_of_a_product() -> tuple[str, ...]:
    schedule = auto_schedule_gpu(programs.scop_of(programs.product), GpuModel())
    loops = device_loops(lower(schedule, as_program(schedule.scop)))
    return tuple(line.split(": ", 1)[1] for line in conflict_lines(loops, paddings((schedule,))))


FREE = (
    "B_pack, written 16 bytes a thread: no bank conflicts",
    "A_pack, written 4 bytes a thread: 2-way bank conflicts; "
    "rows padded by 4: 16-way bank conflicts without",
    "A_pack, read 16 bytes a thread: no bank conflicts",
    "B_pack, read 16 bytes a thread: no bank conflicts",
)


def test_a_product_reads_without_conflicts():
    assert lines_of_a_product() == FREE


def test_without_padding_copies_are_stored_slowly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operands, "PADS", 1)
    assert lines_of_a_product()[1] == "A_pack, written 4 bytes a thread: 16-way bank conflicts"


def test_without_groups_columns_are_read_slowly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiles, "WIDE", 32)
    assert lines_of_a_product()[3] == "B_pack, read 16 bytes a thread: 2-way bank conflicts"
