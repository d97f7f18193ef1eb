"""Strip: structure, results, marks, refusals."""

from __future__ import annotations

import pytest

from polyopt.ir.loops import LoopKind
from polyopt.schedule import source_schedule
from polyopt.schedule.sizes import Named
from polyopt.schedule.tree import find_band
from polyopt.transforms import Cut, Interchange, Parallelize, Strip, Unroll, Vectorize
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    steps = (Strip("j", 8), Interchange("j_tile", "i"))
    golden("schedule/strip_gemm.tree", story(scops.gemm(), *steps))


@pytest.mark.parametrize(
    "scop", [scops.gemm, scops.seidel, scops.backward, scops.prefix, scops.nowhere, scops.diagonal]
)
def test_any_loop_can_be_split_in_strips(scop):
    assert_computes(scop(), Strip("L0[0]", 3))
    assert_computes(scop(), Strip("L0[0]", 1), Strip("L0[1]", 4), Strip("L0[0]", 2))


def test_marks():
    steps = (Parallelize("i"), Vectorize("j"), Unroll("k"))
    schedule = source_schedule(scops.gemm()).apply(*steps, Strip("i", 2), Strip("j", 4))
    schedule = schedule.apply(Strip("k", 2))
    members = find_band(schedule.tree, "L0").members
    assert [(m.name, m.kind) for m in members] == [
        ("i_tile", LoopKind.PARALLEL),
        ("i", LoopKind.SEQUENTIAL),
        ("j_tile", LoopKind.SEQUENTIAL),
        ("j", LoopKind.VECTOR),
        ("k_tile", LoopKind.SEQUENTIAL),
        ("k", LoopKind.UNROLL),
    ]


def test_round_trip():
    assert_round_trip(Strip("i", 3), Strip("L0.tile[1]", 2**31 - 1))
    assert str(Strip("i", Named("T", 3))) == "strip(i, T)"


def test_refusals():
    assert refused(scops.seidel(), Strip("i", 0))[:2] == (
        "PO0303",
        "strip(i, 0): a tile size must be at least 1",
    )
    assert refused(scops.seidel(), Strip("i", 2**31))[0] == "PO0303"
    assert refused(scops.seidel(), Strip("L0", 2))[0] == "PO0303"
    assert refused(scops.seidel(), Strip("x", 2))[0] == "PO0301"


def test_strips_of_strips_have_names_of_their_own():
    """Others can be told by name, as in `split(k, 8 * i_tile2)`."""
    schedule = assert_computes(scops.gemm(), Strip("i", 4), Strip("L0[1]", 2), Strip("L0[2]", 1))
    names = [member.name for member in find_band(schedule.tree, "L0").members]
    assert names == ["i_tile", "i_tile2", "i_tile3", "i", "j", "k"]
    inside = assert_computes(scops.gemm(), Strip("i", 4), Cut("L0", 1), Strip("i", 2))
    assert find_band(inside.tree, "L0.inner").members[0].name == "i_tile2"
