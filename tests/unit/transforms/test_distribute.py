"""Distribute: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Distribute, Fuse, Parallelize, Split, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/distribute_ordered_gemm.tree", story(scops.ordered_gemm(), Distribute("L0")))


def test_golden_of_the_inner_loop(golden):
    text = story(scops.ordered_gemm(), Distribute("L0", 1))
    golden("schedule/distribute_ordered_gemm_inner.tree", text)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_same_results(count):
    assert_computes(scops.ordered_gemm(), Distribute("L0", count))


def test_parts_join_with_the_loops_below():
    schedule = assert_computes(scops.ordered_gemm(), Distribute("L0"))
    assert [(b.label, len(b.members)) for b in bands(schedule.tree)] == [("L0.0", 2), ("L0.1", 3)]
    assert_computes(scops.ordered_gemm(), Distribute("L0"), Tile("L0.1", (2, 3, 4)))


def test_illegal():
    error, witness = assert_illegal(scops.jacobi(), "PO0311", Distribute("L0"))
    assert witness.source[0] == "S1"
    assert witness.target[0] == "S0"
    assert dict(witness.params)["T"] == 2
    assert error.code == "PO0311"


def test_solve_cannot_be_distributed():
    _, witness = assert_illegal(scops.solve(), "PO0311", Distribute("L0"))
    assert witness.kind == "flow"
    assert (witness.source, witness.target) == (("S1", (0,)), ("S0", (1, 0)))


def test_fused_again():
    steps = (Distribute("L0"), Fuse("L0.0", "L0.1"), Parallelize("i"))
    assert_computes(scops.ordered_gemm(), *steps)


def test_a_half_of_a_loop():
    """The parts of a half have the half's iterations, not all of them."""
    scop = read(
        """
        for i in range(N):
            A[i] = 1
            B[i] = A[i] + 1
        """,
        "A[N]; B[N]",
    )
    assert_computes(scop, Split("i", 3), Distribute("L0.low"), Distribute("L0.high"))


def test_three_parts():
    scop = read(
        """
        for i in range(N):
            A[i] = 1
            B[i] = A[i] + 1
            C[i] = B[i] + A[i]
        """,
        "A[N]; B[N]; C[N]",
    )
    schedule = assert_computes(scop, Distribute("L0"))
    assert [b.label for b in bands(schedule.tree)] == ["L0.0", "L0.1", "L0.2"]


def test_round_trip():
    assert_round_trip(Distribute("L0"), Distribute("L0.point", 1))


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (Distribute("L0", 3), "PO0303", "distribute(L0, 3): the band has 2 loops"),
        (Distribute("L0", -1), "PO0303", "distribute(L0, -1): the band has 2 loops"),
        (Distribute("L1"), "PO0306", "distribute(L1): the loop has one body"),
        (Distribute("i"), "PO0301", "no band is called `i`"),
    ],
)
def test_refusals(step, code, message):
    assert refused(scops.ordered_gemm(), step)[:2] == (code, message)


def test_the_first_parts_together():
    scop = read(
        """
        for i in range(N):
            A[i] = 1
            B[i] = A[i] + 1
            A[i] = B[i] + A[i]
        """,
        "A[N]; B[N]",
    )
    schedule = assert_computes(scop, Distribute("L0", 1, together=2))
    assert [b.label for b in bands(schedule.tree)] == ["L0.0", "L0.1"]
    assert_round_trip(Distribute("L0", 1, together=2))
    for wrong in (0, 3):
        with pytest.raises(ScheduleError, match="the body has 3 parts"):
            source_schedule(scop).apply(Distribute("L0", 1, together=wrong))
