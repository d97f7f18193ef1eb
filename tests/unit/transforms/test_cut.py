"""Cut: two bands for one, in the same order."""

from __future__ import annotations

import pytest

from polyopt.schedule.tree import bands
from polyopt.transforms import Cut, Interchange, Tile
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/cut_gemm.tree", story(scops.gemm(), Cut("L0", 1)))


@pytest.mark.parametrize("scop", [scops.gemm, scops.seidel, scops.diagonal, scops.backward])
def test_the_order_does_not_change(scop):
    assert_computes(scop(), Cut("L0", 1))


def test_inner_loops_are_tiled_alone():
    schedule = assert_computes(scops.gemm(), Cut("L0", 1), Tile("L0.inner", (2, 4)))
    assert [b.label for b in bands(schedule.tree)] == ["L0", "L0.inner.tile", "L0.inner.point"]


def test_a_cut_is_a_fence_for_interchange():
    code, message, _ = refused(scops.gemm(), Cut("L0", 1), Interchange("i", "k"))
    assert code == "PO0304"
    assert "L0[0] and L0.inner[1]" in message


def test_permutable_is_judged_per_band():
    """Skew-free rows of a stencil: the outer loop alone and the inner loop alone are permutable."""
    schedule = assert_computes(scops.diagonal(), Cut("L0", 1))
    assert [b.permutable for b in bands(schedule.tree)] == [True, True]


def test_round_trip():
    assert_round_trip(Cut("L0", 1), Cut("L0.point", 2))


@pytest.mark.parametrize("count", [-1, 0, 3, 4])
def test_refusals(count):
    code, message, hint = refused(scops.gemm(), Cut("L0", count))
    assert (code, message) == ("PO0303", f"cut(L0, {count}): band L0 has 3 loops")
    assert hint == "leave at least one loop on each side"
    assert refused(scops.gemm(), Cut("L7", 1))[0] == "PO0301"
