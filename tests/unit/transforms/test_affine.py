"""Affine: isl's scheduler as a step."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.errors import BudgetError, ScheduleError
from polyopt.ir.affine import quota
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Affine, Fusion, Tile, affine, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.reading import read


def test_golden(golden):
    golden("schedule/affine_jacobi.tree", story(scops.jacobi(), Affine(Fusion.MIN)))


def test_golden_of_full_fusion(golden):
    golden("schedule/affine_chain.tree", story(scops.chain(), Affine(Fusion.MAX)))


@pytest.mark.parametrize("fusion", list(Fusion))
@pytest.mark.parametrize(
    "scop",
    [
        scops.gemm,
        scops.ordered_gemm,
        scops.jacobi,
        scops.seidel,
        scops.diagonal,
        scops.dot,
        scops.solve,
        scops.backward,
        scops.nowhere,
        scops.transposed,
        scops.prefix,
        scops.chain,
        scops.ahead,
        scops.planes,
    ],
)
def test_same_results(scop, fusion):
    assert_computes(scop(), Affine(fusion))


def test_bands_of_stencils_are_permutable():
    """The time loop and its skewed space loops can be tiled together."""
    schedule = source_schedule(scops.jacobi()).apply(Affine(Fusion.MAX))
    outer = next(bands(schedule.tree))
    assert len(outer.members) == 3
    assert outer.permutable
    assert_computes(scops.jacobi(), Affine(Fusion.MAX), Tile(outer.label, (2, 3, 4)))


def test_minimal_fusion_keeps_nests_apart():
    apart = source_schedule(scops.planes()).apply(Affine(Fusion.MIN))
    together = source_schedule(scops.planes()).apply(Affine(Fusion.MAX))
    assert [len(b.members) for b in bands(apart.tree)] == [2, 2]
    assert [len(b.members) for b in bands(together.tree)] == [2]


def test_a_program_without_statements():
    scop = read("", "A[N]")
    assert list(bands(source_schedule(scop).apply(Affine()).tree)) == []


def test_options_are_restored():
    context = isl.DEFAULT_CONTEXT
    before = context.get_schedule_serialize_sccs(), context.get_schedule_maximize_band_depth()
    source_schedule(scops.jacobi()).apply(Affine(Fusion.MIN))
    after = context.get_schedule_serialize_sccs(), context.get_schedule_maximize_band_depth()
    assert before == after


def test_the_budget_is_an_error_of_its_own(monkeypatch):
    monkeypatch.setattr(affine, "BUDGET", 20)
    with pytest.raises(BudgetError) as refused:
        source_schedule(scops.jacobi()).apply(Affine())
    assert refused.value.code == "PO0701"
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_a_quota_inside_a_quota_is_restored():
    with quota(10**9), quota(10**6):
        source_schedule(scops.prefix())
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_round_trip():
    assert_round_trip(Affine(), Affine(Fusion.MIN))
    assert parse_steps("affine(max)") == (Affine(),)


@pytest.mark.parametrize("fusion", list(Fusion))
@pytest.mark.parametrize("scop", [scops.gemm, scops.jacobi, scops.solve, scops.chain, scops.planes])
def test_each_band_alone_computes_the_same(scop, fusion):
    """In the place of the band is what isl's scheduler makes of it; all other bands are kept."""
    for band in bands(source_schedule(scop()).tree):
        step = Affine(fusion, band.label)
        assert_computes(scop(), step)
        assert_round_trip(step)


def test_a_nest_leaves_the_others_alone():
    before = source_schedule(scops.chain())
    first, *rest = bands(before.tree)
    after = list(bands(before.apply(Affine(Fusion.MAX, rest[-1].label)).tree))
    assert first in after
    assert len({band.label for band in after}) == len(after)


def test_an_unknown_nest_is_refused():
    with pytest.raises(ScheduleError) as caught:
        source_schedule(scops.gemm()).apply(Affine(Fusion.MIN, "L9"))
    assert caught.value.code == "PO0301"
