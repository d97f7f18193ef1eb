"""Fuse: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Cut, Distribute, Fuse, Parallelize, Skew
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/fuse_chain.tree", story(scops.chain(), Fuse("L0", "L1")))


def test_golden_of_a_partial_fusion(golden):
    golden("schedule/fuse_planes_outer.tree", story(scops.planes(), Fuse("L0", "L1", 1)))


def test_same_results():
    assert_computes(scops.chain(), Fuse("L0", "L1"))
    assert_computes(scops.planes(), Fuse("L0", "L1"), Parallelize("i"))
    assert_computes(scops.planes(), Fuse("L0", "L1", 1), Parallelize("i"))


def test_three_in_a_row():
    scop = read(
        """
        for i in range(N):
            B[i] = A[i]
        for i in range(N):
            C[i] = B[i]
        for i in range(1, N - 1):
            D[i] = C[i] + B[i - 1]
        """,
        "A[N]; B[N]; C[N]; D[N]",
    )
    schedule = assert_computes(scop, Fuse("L1", "L2"), Fuse("L0", "L1"))
    assert len(list(bands(schedule.tree))) == 1
    assert_computes(scop, Fuse("L0", "L1"), Fuse("L0", "L2"))
    assert_computes(scop, Fuse("L0", "L1"))


def test_nests_of_unlike_depth():
    scop = read(
        """
        for i in range(N):
            y[i] = 0
        for i in range(N):
            for j in range(M):
                y[i] = y[i] + A[i, j] * x[j]
        """,
        "A[N, M]; x[M]; y[N]",
        "N M",
    )
    schedule = assert_computes(scop, Fuse("L0", "L1"))
    assert [(b.label, len(b.members)) for b in bands(schedule.tree)] == [("L0", 1), ("L1", 1)]


def test_illegal():
    error, witness = assert_illegal(scops.ahead(), "PO0311", Fuse("L0", "L1"))
    assert witness.kind == "flow"
    assert (witness.source, witness.target) == (("S0", (1,)), ("S1", (0,)))
    assert witness.cell == (1,)
    assert dict(witness.params) == {"N": 2}
    assert error.message == ("fuse(L0, L1) is not legal: it reverses a dependence at loop `i`")


def test_bands_inside_a_time_loop():
    error, witness = assert_illegal(scops.jacobi(), "PO0311", Fuse("L1", "L2"))
    assert (witness.source[0], witness.target[0]) == ("S0", "S1")
    assert error.hint is not None
    assert_computes(scops.jacobi(), Skew("L2[0]", "L2[1]"), Fuse("L1", "L2"))


def test_undone_by_distribute():
    steps = (Fuse("L0", "L1"), Distribute("L0"))
    schedule = assert_computes(scops.chain(), *steps)
    assert [b.label for b in bands(schedule.tree)] == ["L0.0", "L0.1"]


def test_labels_stay_unique():
    scop = read(
        """
        for i in range(N):
            for j in range(N):
                for k in range(N):
                    A[i, j, k] = 1
        for i in range(N):
            B[i] = 1
        """,
        "A[N, N, N]; B[N]",
    )
    schedule = assert_computes(scop, Cut("L0", 2), Fuse("L0", "L1"))
    found = [b.label for b in bands(schedule.tree)]
    assert len(found) == len(set(found)), found


def test_round_trip():
    assert_round_trip(Fuse("L0", "L1"), Fuse("L0.inner", "L1", 2))


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (
            Fuse("L1", "L0"),
            "PO0305",
            "fuse(L1, L0): the two bands do not follow each other in one sequence",
        ),
        (
            Fuse("L0", "L0"),
            "PO0305",
            "fuse(L0, L0): the two bands do not follow each other in one sequence",
        ),
        (Fuse("L0", "L5"), "PO0301", "no band is called `L5`"),
        (Fuse("L0", "L1", 3), "PO0303", "fuse(L0, L1, 3): the bands have 2 loops in common"),
        (Fuse("L0", "L1", -1), "PO0303", "fuse(L0, L1, -1): the bands have 2 loops in common"),
    ],
)
def test_refusals(step, code, message):
    assert refused(scops.planes(), step)[:2] == (code, message)


def test_kinds_of_joined_loops():
    """A joint loop starts without marks: the facts of its parts need not hold for it."""
    steps = (Parallelize("L0"), Fuse("L0", "L1"))
    schedule = source_schedule(scops.chain()).apply(*steps)
    (band,) = bands(schedule.tree)
    assert [m.kind.value for m in band.members] == ["sequential"]
