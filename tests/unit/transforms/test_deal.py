"""Deal: structure, results, partial sums in hands, refusals."""

from __future__ import annotations

import pytest

from polyopt.transforms import Deal, Grid, Rfactor, Threads, Tile
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip
from tests.unit.transforms.refusing import refused


@pytest.mark.parametrize("scop", [scops.gemm, scops.transposed, scops.nowhere])
def test_loops_without_dependences_are_distributed_cyclically(scop):
    assert_computes(scop(), Deal("L0[0]", 3))
    assert_computes(scop(), Deal("L0[0]", 1))


def test_lanes_of_a_sum_are_threads():
    steps = (Deal("k", 3), Rfactor("S0", "k_lane"), Grid(("i", "j")), Threads(("k_lane",)))
    assert_computes(scops.gemm(), *steps)


def test_a_thread_has_every_fourth_column():
    tiles = (Tile("L0", (8, 8)), Deal("j", 4))
    assert_computes(scops.gemm(), *tiles, Threads(("i", "j_lane")))


def test_a_chain_is_not_distributed():
    _, witness = assert_illegal(scops.prefix(), "PO0311", Deal("i", 2))
    assert witness.array == "A"


def test_round_trip():
    assert_round_trip(Deal("i", 3), Deal("L0.tile[1]", 2**31 - 1))


def test_refusals():
    assert refused(scops.seidel(), Deal("i", 0))[:2] == (
        "PO0303",
        "deal(i, 0): a tile size must be at least 1",
    )
    assert refused(scops.seidel(), Deal("L0", 2))[0] == "PO0303"
    assert refused(scops.seidel(), Deal("x", 2))[0] == "PO0301"
