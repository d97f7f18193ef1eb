"""Peel: a loop split at the iteration that the others depend on."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir.budget import query
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import BandMember, bands, find_band, statements_of
from polyopt.transforms import Cut, Parallelize, Peel, Tile
from polyopt.transforms.peel import _is_single
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def pivot():
    """All iterations of the inner loops read row and column `k`; iteration `k` writes them."""
    return read(
        """
        for k in range(N):
            for i in range(N):
                for j in range(N):
                    A[i, j] = A[i, j] + A[k, j]
        """,
        "A[N, N]",
    )


def inner(scop):
    """Return the steps that leave the loop over rows alone in its band."""
    return (Cut("L0", 1),)


def test_golden(golden):
    steps = (*inner(pivot()), Peel("L0.inner"), Parallelize("L0.inner.before[0]"))
    golden("schedule/peel_pivot.tree", story(pivot(), *steps))


def test_rows_before_and_after_the_pivot_are_parallel():
    steps = inner(pivot())
    assert_illegal(pivot(), "PO0312", *steps, Parallelize("L0.inner[0]"))
    marks = (Parallelize("L0.inner.before[0]"), Parallelize("L0.inner.after[0]"))
    schedule = assert_computes(pivot(), *steps, Peel("L0.inner"), *marks)
    found = [b.label for b in bands(schedule.tree)]
    assert found == ["L0", "L0.inner.before", "L0.inner.at", "L0.inner.after"]


def test_the_parts_hold_every_instance():
    """Also where the loop does not reach its pivot."""
    scop = read(
        """
        for i in range(M):
            B[i] = B[i] + B[5]
        """,
        "B[M + 6]",
        "M",
    )
    assert_computes(scop, Peel("L0"), Parallelize("L0.before"), Parallelize("L0.after"))


def test_labels_below_are_renamed():
    scop = read(
        """
        for i in range(N):
            for j in range(N):
                A[i, j] = A[3, j]
            B[i] = A[i, 0]
        """,
        "A[N + 4, N + 1]; B[N]",
    )
    schedule = assert_computes(scop, Peel("L0"), Parallelize("L0.before"))
    found = [b.label for b in bands(schedule.tree)]
    assert len(found) == len(set(found)) == 6
    assert {"L1.before", "L1.at", "L1.after"} <= set(found)


def test_tiles_of_a_part():
    steps = (*inner(pivot()), Peel("L0.inner"), Tile("L0.inner.after", (2, 3)))
    assert_computes(pivot(), *steps)


def test_the_iteration_at_the_pivot():
    scop = read("for i in range(N):\n    B[i] = B[i] + B[2]", "B[N + 3]")
    schedule = source_schedule(scop).apply(Peel("L0"))
    for label in ("L0.before", "L0.at", "L0.after"):
        assert statements_of(scop, find_band(schedule.tree, label).members[0].schedule.domain())


def test_round_trip():
    assert_round_trip(Peel("L0"), Peel("L0.inner"))


@pytest.mark.parametrize("make", [scops.prefix, scops.seidel, scops.gemm, scops.transposed])
def test_refusals(make):
    code, message, hint = refused(make(), Peel("L0"))
    assert code == "PO0308"
    assert message == "peel(L0): the loop's dependences do not all touch one iteration"
    assert hint == "only a loop that one iteration keeps from being parallel can be peeled"


def test_unknown_bands():
    assert refused(scops.prefix(), Peel("L7"))[:2] == ("PO0301", "no band is called `L7`")


def test_pivots_in_pieces_that_overlap():
    """Four pieces and three of each schedule are not to make as many as their products."""
    pivots = isl.UnionSet(
        """[N] -> { S[i, t] : (i < N and t > 0 and 4096t < i) or (i >= 0 and 2 + i <= 4096t < N)
        or (N >= 4097 and 0 < i <= -2 + N and -4094 + i <= 4096t < N)
        or (0 <= i < N and t >= 0 and 4096t <= -4097 + N and 4096t <= -4099 + 2N - i) }"""
    )
    tiles = "(t >= 0 and 4096t < i) or (0 <= i <= -2 + N and -4094 + i <= 4096t < N)"
    i, t = (
        BandMember(
            isl.UnionPwAff(f"[N] -> {{ S[i, t] -> [({name})] : i < N and ({tiles}) }}"), name
        )
        for name in "it"
    )
    with query("peel", operations=30_000):
        assert not _is_single(t, (i,), pivots)
