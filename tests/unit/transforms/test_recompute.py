"""Recompute: halos, reductions, producers that go, values that are gone."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule
from polyopt.schedule import source_schedule
from polyopt.transforms import Parallelize, Recompute, Tile
from tests.checks import assert_computes, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

TILED = (Tile("L1", (4, 4)), Recompute("T", "L1.tile[1]"))


def test_golden(golden):
    golden("schedule/recompute_blur.tree", story(data_programs.blur(), *TILED))


def test_same_results():
    schedule = assert_computes(data_programs.blur(), *TILED, Parallelize("i_tile"))
    assert [s.name for s in schedule.scop.statements] == ["S0_again", "S1"]
    assert "6 x 4 elements" in str(schedule)
    assert_computes(data_programs.blur(), Recompute("T", "L1[1]"), Parallelize("L1[0]"))


def test_a_reduction_is_recomputed_from_its_start():
    schedule = assert_computes(data_programs.products(), Recompute("y", "L2"))
    assert [s.name for s in schedule.scop.statements] == ["S0_again", "S1_again", "S2"]


def test_other_readers_keep_the_producer():
    scop = read(
        """
        for i in range(N):
            T[i] = A[i] * 2
        for i in range(N - 1):
            B[i] = T[i] + T[i + 1]
        for i in range(N):
            C[i] = T[N - 1 - i]
        """,
        "A[N]; B[N]; C[N]; temp T[N]",
    )
    schedule = assert_computes(scop, Recompute("T", "L1"))
    assert [s.name for s in schedule.scop.statements] == ["S0_again", "S0", "S1", "S2"]
    gone = assert_computes(scop, Recompute("T", "L1"), Recompute("T", "L2"))
    assert "S0" not in [s.name for s in gone.scop.statements]


def test_iterators_have_names_of_their_own():
    scop = read(
        """
        for i in range(N):
            T[i] = A[i] * 2
        for i in range(N):
            for i2 in range(M):
                B[i, i2] = T[i] + B[i, i2]
        """,
        "A[N]; B[N, M]; temp T[N]",
        "N M",
    )
    schedule = assert_computes(scop, Recompute("T", "L1[1]"))
    iters = schedule.scop.statement("S0_again").iters
    assert len(set(iters)) == len(iters) == 3


def test_values_that_are_gone():
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(data_programs.overwritten()).apply(Recompute("y", "L1"))
    assert found.value.code == "PO0316"
    assert found.value.witness.array == "x"


def test_round_trip():
    assert_round_trip(Recompute("T", "L1.tile[1]"))


def test_refusals():
    scop = data_programs.overwritten()
    assert refused(scop, Recompute("y", "L0"))[0] == "PO0334"
    assert refused(scop, Recompute("x", "L0"))[0] == "PO0331"
    assert refused(data_programs.last_value(), Recompute("s", "i"))[0] == "PO0331"
