"""Split: structure, results, labels, refusals."""

from __future__ import annotations

import pytest

from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import (
    Fuse,
    Interchange,
    Parallelize,
    Shift,
    Skew,
    Split,
    Tile,
    Unroll,
    Vectorize,
)
from polyopt.transforms.amount import read_amount
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.unit.transforms.refusing import refused


def at(text):
    return read_amount(text, {})


def test_golden(golden):
    golden("schedule/split_gemm.tree", story(scops.gemm(), Split("j", at("M - 8")), Unroll("i")))


@pytest.mark.parametrize("point", ["0", "3", "-1", "100", "N - 1", "N", "N//2", "2*N", "2 - N"])
@pytest.mark.parametrize("loop", ["L0[0]", "L0[1]"])
def test_anywhere(point, loop):
    for scop in (scops.gemm, scops.diagonal, scops.backward):
        assert_computes(scop(), Split(loop, at(point)))


def test_at_a_loop_outside():
    assert_computes(scops.gemm(), Split("j", at("i")), Split("L0.high[1]", at("j + i - 3")))
    assert_computes(scops.solve(), Split("j", at("i//2")))
    assert_computes(scops.gemm(), Tile("L0", (4, 4)), Split("L0.point[1]", at("4*j_tile + 2")))


def test_nests_and_labels():
    schedule = source_schedule(scops.jacobi()).apply(Split("t", at("T - 1")))
    labels = [band.label for band in bands(schedule.tree)]
    assert labels == ["L0.low", "L1.low", "L2.low", "L0.high", "L1.high", "L2.high"]
    schedule = source_schedule(scops.planes()).apply(Split("j", 2), Split("L0.low", 1))
    assert [band.label for band in bands(schedule.tree)] == [
        "L0",
        "L0.low.low",
        "L0.low.high",
        "L0.high",
        "L1",
    ]


def test_split_halves_are_parts_of_the_sequence():
    """The second half can be fused with what follows: both are parts of one sequence."""
    steps = (Split("L0", 1), Shift("L1", 1), Fuse("L0.high", "L1"))
    assert_computes(scops.ahead(), *steps)


def test_frees_a_shifted_loop_of_its_condition():
    steps = (Shift("L1", 1), Fuse("L0", "L1"), Split("L0", 1))
    text = story(scops.ahead(), *steps).partition("-- loops")[2]
    assert "if i" not in text


def test_marks_are_kept():
    steps = (Parallelize("i"), Vectorize("j"), Split("i", at("N//2")), Split("L0.low[1]", 3))
    assert_computes(scops.transposed(), *steps)


def test_loops_of_skewed_and_interchanged_bands():
    assert_computes(
        scops.seidel(), Skew("i", "j"), Split("i", at("N")), Split("L0.low[1]", at("i"))
    )
    assert_computes(scops.gemm(), Interchange("i", "k"), Split("k", at("N - 2")))


def test_a_later_step_on_a_half_is_judged():
    steps = (Split("j", at("N//2")), Parallelize("L0.low"))
    error, _ = assert_illegal(scops.seidel(), "PO0312", *steps)
    assert error.message.startswith("parallelize(L0.low)")


def test_round_trip():
    assert_round_trip(Split("i", 8), Split("L0[1]", at("N - 1")), Split("j", at("-(i + 2)//3")))


def test_refusals():
    code, message, hint = refused(scops.gemm(), Split("i", at("j")))
    assert (code, message) == ("PO0327", "split(i, j): the program has no size `j`")
    assert hint == "the sizes are N, M, K"
    assert refused(scops.gemm(), Split("L0", 3))[0] == "PO0303"
    assert refused(scops.gemm(), Split("j", at("i * N")))[0] == "PO0327"
    steps = (Tile("L0", (4, 4)), Tile("L0.point", (2, 2)), Split("j", at("i_tile")))
    assert refused(scops.gemm(), *steps)[0] == "PO0302"
