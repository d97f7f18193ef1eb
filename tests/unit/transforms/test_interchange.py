"""Interchange: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.transforms import Interchange, Parallelize, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/interchange_gemm.tree", story(scops.gemm(), Interchange("j", "k")))


@pytest.mark.parametrize(
    ("scop", "first", "second"),
    [
        (scops.gemm, "i", "k"),
        (scops.gemm, "L0[2]", "L0[0]"),
        (scops.seidel, "j", "i"),
        (scops.backward, "i", "j"),
        (scops.transposed, "i", "j"),
        (scops.gemm, "i", "i"),
    ],
)
def test_same_results(scop, first, second):
    assert_computes(scop(), Interchange(first, second))


def test_marks_move_with_their_loops(golden):
    steps = (Parallelize("i"), Interchange("i", "j"))
    golden("schedule/interchange_parallel.tree", story(scops.transposed(), *steps))


def test_illegal():
    error, witness = assert_illegal(scops.diagonal(), "PO0311", Interchange("i", "j"))
    assert (witness.source, witness.target) == (("S0", (1, 1)), ("S0", (2, 0)))
    assert witness.cell == (1, 1)
    assert error.message.startswith("interchange(i, j) is not legal: it reverses a dependence")


def test_triangular_bounds_follow():
    scop = read(
        """
        for i in range(N):
            for j in range(i + 1):
                A[i, j] += B[j]
        """,
        "A[N, N]; B[N]",
    )
    assert_computes(scop, Interchange("i", "j"))


def test_round_trip():
    assert_round_trip(Interchange("i", "j"), Interchange("L0.tile[0]", "L0.tile[1]"))


def test_refusals():
    code, message, hint = refused(scops.jacobi(), Interchange("t", "L1[0]"))
    assert (code, message) == (
        "PO0304",
        "interchange(t, L1[0]): the loops belong to different bands, L0[0] and L1[0]",
    )
    assert hint == "distribute or fuse first, so that one band holds both"
    code, message, hint = refused(scops.jacobi(), Interchange("t", "i"))
    assert (code, message) == ("PO0302", "`i` names several loops")
    assert hint == "say which one: L1[0], L2[0]"
    code, message, hint = refused(scops.gemm(), Interchange("i", "z"))
    assert (code, message) == ("PO0301", "no loop or band is called `z`")
    assert hint == "bands and their loops: L0 (i, j, k)"
    code, message, hint = refused(scops.gemm(), Interchange("L0[1]", "L0[3]"))
    assert (code, message) == ("PO0301", "band L0 has 3 loops, there is no L0[3]")
    code, message, hint = refused(scops.gemm(), Interchange("L0", "k"))
    assert (code, message) == ("PO0303", "interchange(L0, k): band L0 has 3 loops, one is needed")
    assert hint == "say which: L0[0], L0[1], L0[2]"


def test_tile_and_point_loops_are_two_bands():
    code, *_ = refused(scops.gemm(), Tile("L0", (2, 2)), Interchange("L0.tile[0]", "L0.point[0]"))
    assert code == "PO0304"
