"""Shift: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.schedule.sizes import Named
from polyopt.transforms import Distribute, Fuse, Parallelize, Shift, Skew, Tile
from polyopt.transforms.amount import read_amount
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def pipeline():
    """Three nests, each of which reads its producer's neighbours."""
    return read(
        """
        for i in range(N):
            B[i] = A[i]
        for j in range(1, N - 1):
            C[j] = B[j - 1] + B[j + 1]
        for k in range(2, N - 2):
            A[k] = C[k - 1] + C[k + 1]
        """,
        "A[N]; B[N]; C[N]",
    )


def test_golden(golden):
    steps = (Shift("L1", 1), Fuse("L0", "L1"))
    golden("schedule/shift_ahead.tree", story(scops.ahead(), *steps))


@pytest.mark.parametrize("amount", [0, 1, -3, 100, "N", "N - 2*M + 1"])
def test_a_whole_loop_moved_by_anything(amount):
    if isinstance(amount, str):
        amount = read_amount(amount, {})
    assert_computes(scops.backward(), Shift("j", amount), Tile("L0", (2, 3)))
    assert_computes(scops.transposed(), Tile("L0", (2, 3)), Shift("L0.tile[1]", amount))


def test_makes_fusion_legal():
    assert_illegal(scops.ahead(), "PO0311", Fuse("L0", "L1"))
    assert_computes(scops.ahead(), Shift("L1", 1), Fuse("L0", "L1"))
    steps = (Shift("L1", 1), Shift("L2", 2), Fuse("L0", "L1"), Fuse("L0", "L2"))
    assert_computes(pipeline(), *steps)
    assert_illegal(pipeline(), "PO0311", Shift("L1", 1), Fuse("L0", "L1"), Fuse("L0", "L2"))


def test_one_statement_of_a_fused_loop():
    aligned = read(
        """
        for i in range(1, N):
            B[i] = A[i]
            C[i] = B[i - 1]
        """,
        "A[N]; B[N]; C[N]",
    )
    assert_illegal(aligned, "PO0312", Parallelize("i"))
    steps = (Shift("i", -1, "S1"), Parallelize("i"))
    assert_computes(aligned, *steps)
    assert_illegal(aligned, "PO0311", Shift("i", -2, "S1"))
    assert_computes(aligned, Shift("i", 1, "S0"), Shift("i", 1, "S1"), Distribute("L0"))


def test_by_a_size():
    two = read(
        """
        for i in range(N):
            B[i] = A[i]
        for j in range(N, 2 * N):
            B[j] = A[j - N]
        """,
        "A[N]; B[2 * N]",
    )
    schedule = assert_computes(two, Shift("L1", read_amount("-N", {})), Fuse("L0", "L1"))
    assert str(schedule).startswith("for i = S0: i, S1: -N + j:  [L0[0]]")


def test_the_loops_of_a_skewed_band():
    assert_computes(
        scops.seidel(), Shift("j", 2), Skew("j", "i", 1), Shift("j", 3), Tile("L0", (2, 3))
    )


def test_round_trip():
    assert_round_trip(
        Shift("i", 1),
        Shift("L0.point[1]", -5, "S12"),
        Shift("i", read_amount("2*N - M + 4", {}), "S0"),
    )


def test_a_named_amount():
    amount = read_amount("2*T + N", {"T": 3})
    step = Shift("i", amount)
    assert str(step) == "shift(i, 2 * T + N)"
    assert amount.named == (Named("T", 3),)
    schedule = assert_computes(scops.gemm(), step)
    assert schedule.text == "let T = 3;\nshift(i, 2 * T + N)"
    assert str(schedule).startswith("for i = 6 + N + i:")


def test_refusals():
    code, message, hint = refused(scops.gemm(), Shift("i", read_amount("n", {})))
    assert code == "PO0327"
    assert message == "shift(i, n): the program has no size `n`"
    assert hint == "did you mean `N`? the sizes are N, M, K"
    for text in ("N * M", "N//2", "M % 3", "min(N, 3)"):
        code, message, hint = refused(scops.gemm(), Shift("i", read_amount(text, {})))
        assert (code, hint) == ("PO0327", "use sums of sizes and whole numbers, as `2*N - 1`")
    code, message, hint = refused(scops.ahead(), Shift("L0", 1, "S1"))
    assert (code, message) == ("PO0301", "shift(L0, S1, 1): the loop runs no statement `S1`")
    assert hint == "statements in it: S0"
    assert refused(scops.gemm(), Shift("x", 1))[0] == "PO0301"
