"""Reverse: structure, legality, results, refusals."""

from __future__ import annotations

import pytest

from polyopt.transforms import Fuse, Interchange, Reverse, Shift, Skew, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/reverse_gemm.tree", story(scops.gemm(), Reverse("j"), Tile("L0", (4, 4))))


@pytest.mark.parametrize(
    ("scop", "steps"),
    [
        (scops.gemm, (Reverse("i"), Reverse("k"))),
        (scops.transposed, (Reverse("j"), Tile("L0", (2, 3)), Reverse("L0.tile[0]"))),
        (scops.diagonal, (Reverse("j"),)),
        (scops.backward, (Reverse("j"),)),
        (scops.nowhere, (Reverse("L0"), Reverse("L1"))),
        (scops.planes, (Reverse("i"), Reverse("k"), Fuse("L0", "L1", 1))),
        (scops.gemm, (Reverse("i"), Reverse("i"))),
    ],
)
def test_same_results(scop, steps):
    assert_computes(scop(), *steps)


def test_an_inner_loop_reversed_can_be_tiled():
    assert_illegal(scops.diagonal(), "PO0311", Tile("L0", (2, 2)))
    assert_computes(scops.diagonal(), Reverse("j"), Tile("L0", (2, 2)))
    assert_computes(scops.diagonal(), Reverse("j"), Interchange("i", "j"))


def test_witness():
    error, witness = assert_illegal(scops.prefix(), "PO0311", Reverse("i"))
    assert (witness.source, witness.target) == (("S0", (1,)), ("S0", (2,)))
    assert error.message == "reverse(i) is not legal: it reverses a dependence at loop `i`"
    assert_illegal(scops.seidel(), "PO0311", Reverse("i"))


def test_round_trip():
    assert_round_trip(Reverse("i"), Reverse("L0.tile[1]"), Skew("i", "j"), Shift("i", 1))


def test_refusals():
    assert refused(scops.seidel(), Reverse("x"))[0] == "PO0301"
    assert refused(scops.planes(), Reverse("L0"))[0] == "PO0303"
