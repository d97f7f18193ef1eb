"""Embed: a loop inside a body becomes the last one of the band around it."""

from __future__ import annotations

import pytest

from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Cut, Embed, Interchange, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused

LAST = """
    for i in range(N):
        for j in range(N):
            for k in range(j):
                A[i, j] = A[i, j] + B[i, k]
            C[i, j] = A[i, j] * 2
    """
FIRST = """
    for i in range(N):
        for j in range(N):
            A[i, j] = C[i, j] * 2
            for k in range(j):
                B[i, k] = B[i, k] + A[i, j]
    """
ARRAYS = "A[N, N]; B[N, N]; C[N, N]"


def test_golden(golden):
    golden("schedule/embed_last.tree", story(read(LAST, ARRAYS), Embed("L1", "j")))


def test_what_stands_behind_all_iterations_runs_in_one_that_comes_later():
    schedule = assert_computes(read(LAST, ARRAYS), Embed("L1", "j"), Tile("L0", (2, 2, 2)))
    assert [len(band.members) for band in bands(schedule.tree)] == [3, 3]


def test_loops_of_the_joint_band_are_interchanged():
    assert_computes(read(LAST, ARRAYS), Embed("L1", "L0[1]"), Interchange("L0[1]", "L0[2]"))


def test_what_stands_before_may_not_run_behind():
    """In iteration k = j of the inner loop it would run after all that use it."""
    assert_illegal(read(FIRST, ARRAYS), "PO0311", Embed("L1", "j"))


@pytest.mark.parametrize(("make", "outside"), [(scops.gemm, 2), (scops.seidel, 1)])
def test_a_band_that_is_the_whole_body(make, outside):
    assert_computes(make(), Cut("L0", outside), Embed("L0.inner", "i"))


def test_round_trip():
    assert_round_trip(Embed("L1", "L0[1]"), Embed("L0.inner", "i"))


@pytest.mark.parametrize(
    ("steps", "code", "part"),
    [
        ((Embed("L0", "j"),), "PO0303", "band L0 has 2 loops"),
        ((Embed("L1", "k"),), "PO0304", "`k` is no loop of L0, the band around L1"),
        ((Embed("L7", "j"),), "PO0301", "no band is called `L7`"),
        ((Embed("L1", "L0"),), "PO0303", "band L0 has 2 loops, one is needed"),
    ],
)
def test_refusals(steps, code, part):
    found, message, hint = refused(read(LAST, ARRAYS), *steps)
    assert found == code
    assert part in message
    assert hint


def test_a_nest_without_loops_around_is_refused():
    text = "\nfor i in range(N):\n    A[i, i] = 1.0\n"
    code, message, hint = refused(read(text, ARRAYS), Embed("L0", "i"))
    assert code == "PO0305"
    assert "L0 does not stand directly in the body of a band" in message
    assert hint == "name a nest that other loops are around"


def test_two_nests_side_by_side_are_refused():
    text = """
    for i in range(N):
        for j in range(N):
            A[i, j] = 1.0
        for j in range(N):
            B[i, j] = 1.0
    """
    code, message, _ = refused(read(text, ARRAYS), Embed("L1", "i"))
    assert code == "PO0305"
    assert "other nests stand beside L1" in message


def test_the_source_is_left_as_it_is():
    schedule = source_schedule(read(LAST, ARRAYS))
    schedule.apply(Embed("L1", "j"))
    assert [len(band.members) for band in bands(schedule.tree)] == [2, 1]
