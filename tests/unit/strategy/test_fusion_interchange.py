"""Nests that share an outer loop after an interchange of one's loops."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.strategy.fusion import fuse_nests
from polyopt.strategy.fusion_interchange import fuse_interchanged
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.tiling import outer_bands
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
TWO = Machine(cores=2)


def normalized(x: po.f64["N,C,H,W"]):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    return x - mean


def planes(x: po.f64["N,C,M"]):
    largest = np.max(np.abs(x), axis=(0, 2))
    return x / largest[None, :, None]


def columns(x: po.f64["N,C"]):
    return x - x.sum(axis=0)


def scaled(x: po.f64["N,C,M"], w: po.f64["C,K"]):
    return x * np.sum(w, axis=1)[None, :, None]


def other_extent(x: po.f64["N,C,M"], y: po.f64["N,C,M"]):
    lengths = np.sqrt((y * y).sum(axis=(1, 2)))
    return y * lengths[:, None, None] + x * x


def fused(program):
    """Return a schedule of `program` with its nests fused, and one with more of them turned."""
    ordered = contiguous_innermost(source_schedule(program_of(program).scop))
    as_they_stand = fuse_nests(ordered, frozenset())
    return as_they_stand, fuse_interchanged(as_they_stand, frozenset())


@pytest.mark.parametrize("program", [normalized, planes])
def test_a_nest_that_rereads_an_array_is_interchanged_and_fused(program):
    before, after = fused(program)
    assert len(outer_bands(before.tree)) > len(outer_bands(after.tree))
    chosen = auto_schedule(program_of(program).scop, TWO)
    assert sum(str(step).startswith("parallelize") for step in chosen.trace) == 1


@pytest.mark.parametrize("program", [columns, scaled, other_extent])
def test_innermost_loops_and_other_arrays_keep_their_order(program):
    before, after = fused(program)
    assert after is before


def test_nests_that_are_done_are_left_alone():
    before, _ = fused(normalized)
    assert fuse_interchanged(before, frozenset(outer_bands(before.tree))) is before


@pytest.mark.toolchain
@pytest.mark.parametrize("program", [normalized, planes, scaled])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_numpys(program, fp, threads):
    rng = np.random.default_rng(1)
    shapes = {normalized: [(3, 5, 4, 9)], planes: [(4, 7, 11)], scaled: [(2, 5, 9), (5, 3)]}
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes[program]]
    got = po.kernel(program, fp=fp, threads=threads)(*arrays)
    np.testing.assert_allclose(got, program(*arrays), rtol=1e-12, atol=1e-14)
