"""Skew: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.transforms import Interchange, Parallelize, Skew, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/skew_seidel.tree", story(scops.seidel(), Skew("j", "i", 2)))


def test_golden_of_a_wavefront(golden):
    steps = (Tile("L0", (3, 4)), Skew("L0.tile[0]", "L0.tile[1]"), Parallelize("L0.tile[1]"))
    golden("schedule/skew_wavefront.tree", story(scops.seidel(), *steps))


@pytest.mark.parametrize("factor", [-1, 0, 1, 2, 7])
@pytest.mark.parametrize("scop", [scops.diagonal, scops.seidel, scops.backward, scops.gemm])
def test_any_skew_of_an_inner_loop_is_legal(scop, factor):
    assert_computes(scop(), Skew("L0[1]", "L0[0]", factor))


def test_wavefront():
    """The sum outside makes the other loop free of dependences."""
    scop = scops.seidel()
    assert_illegal(scop, "PO0312", Parallelize("j"))
    assert_computes(scop, Skew("i", "j"), Parallelize("j"))
    assert_computes(
        scop, Tile("L0", (3, 2)), Skew("L0.tile[0]", "L0.tile[1]"), Parallelize("L0.tile[1]")
    )


def test_an_outer_skew_that_reverses():
    error, witness = assert_illegal(scops.diagonal(), "PO0311", Skew("i", "j", 2))
    assert witness.kind == "flow"
    assert error.message.startswith("skew(i, j, 2) is not legal")


def test_makes_interchange_legal():
    assert_illegal(scops.diagonal(), "PO0311", Interchange("i", "j"))
    assert_computes(scops.diagonal(), Skew("j", "i"), Interchange("i", "j"))


def test_loops_with_holes():
    scop = read(
        """
        for i in range(1, N, 2):
            for j in range(0, N - 2, 3):
                A[i, j] = A[i - 1, j + 2] + 1
        """,
        "A[N, N]",
    )
    assert_computes(scop, Skew("j", "i", 3), Tile("L0", (2, 3)))


def test_round_trip():
    assert_round_trip(Skew("i", "t", -2), Skew("L0.tile[0]", "L0.tile[1]"), Skew("a", "b", 0))


def test_refusals():
    code, message, _ = refused(scops.seidel(), Skew("i", "i"))
    assert code == "PO0304"
    assert message == "skew(i, i, 1): L0[0] and L0[0] are not two loops of one band"
    code, message, hint = refused(scops.jacobi(), Skew("L1[0]", "t"))
    assert code == "PO0304"
    assert message == "skew(L1[0], t, 1): L1[0] and L0[0] are not two loops of one band"
    assert hint == "fuse or distribute first, so that one band holds both"
    assert refused(scops.seidel(), Skew("x", "i"))[0] == "PO0301"
    code, message, _ = refused(scops.gemm(), Skew("j", "i", -(2**20) - 1))
    assert code == "PO0303"
    assert message == "skew(j, i, -1048577): the loop would count over 1048576 per iteration"
    again = (Skew("j", "i", 1000), Skew("i", "j", 1000), Skew("j", "i", 1000))
    assert refused(scops.gemm(), *again)[0] == "PO0303"
