"""Sums over one loop, jammed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy import sums as module
from polyopt.strategy.sums import sums
from tests import scops
from tests.checks import assert_computes
from tests.reading import read
from tests.unit.strategy.test_contraction import product

MACHINE = Machine(l1=64)  # strips of four sums


def ordered(target, value, arrays, loops="ij"):
    """A sum whose order the source fixes: only different sums may be jammed."""
    scop = product(target, value, "1", arrays, loops)
    statement = scop.statements[0]
    fixed = replace(statement, reduction=replace(statement.reduction, reassociable=False))
    return replace(scop, statements=(fixed,))


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Tiles that the sizes of the tests fill and leave a rest of."""
    monkeypatch.setattr(module, "ROWS", 3)
    monkeypatch.setattr(module, "TERMS", 2)


def kinds(schedule):
    return {m.kind for b in bands(schedule.tree) for m in b.members}


def test_row_sums():
    """y[i] += A[i, j]: several rows at a time, one accumulator each."""
    scop = ordered("y[i]", "A[i, j]", "y[N]; A[N, M]")
    schedule = sums(source_schedule(scop), "L0", MACHINE)
    assert schedule is not None
    assert kinds(schedule) >= {LoopKind.PARALLEL, LoopKind.UNROLL}
    assert "separate(L0.tile, L0.point, 3)" in schedule.text
    assert_computes(scop, *schedule.trace)


def test_column_sums():
    """y[j] += A[i, j]: strips of columns in lanes, a few rows at a time."""
    scop = ordered("y[j]", "A[i, j]", "y[M]; A[N, M]")
    schedule = sums(source_schedule(scop), "L0", MACHINE)
    assert schedule is not None
    assert kinds(schedule) >= {LoopKind.PARALLEL, LoopKind.UNROLL, LoopKind.VECTOR}
    assert "separate(L0.tile, L0.point, 0, 2)" in schedule.text
    assert_computes(scop, *schedule.trace)


def test_other_loops_stay_outside():
    scop = ordered("y[i, j]", "A[i, j, k]", "y[N, M]; A[N, M, K]", "ijk")
    schedule = sums(source_schedule(scop), "L0", MACHINE)
    assert schedule is not None
    assert_computes(scop, *schedule.trace)


@pytest.mark.parametrize("make", [scops.prefix, scops.seidel, scops.transposed, scops.chain])
def test_no_sums(make):
    assert sums(source_schedule(make()), "L0", MACHINE) is None


def test_one_sum_alone():
    scop = read("for i in range(N):\n    s[0] += A[i]", "s[1]; A[N]")
    assert sums(source_schedule(scop), "L0", MACHINE) is None


def test_open_row_sums_that_share_their_terms():
    """y[i] += A[i, j] * x[j] in any order: rows at a time, each with an accumulator in lanes."""
    scop = product("y[i]", "A[i, j]", "x[j]", "y[N]; A[N, M]; x[M]", "ij")
    schedule = sums(source_schedule(scop), "L0", MACHINE)
    assert schedule is not None
    assert kinds(schedule) >= {LoopKind.PARALLEL, LoopKind.UNROLL, LoopKind.VECTOR}
    assert_computes(scop, *schedule.trace)


def test_open_row_sums_alone():
    """Rows that share no terms stay free for other rules, which fuse them with what uses them."""
    scop = product("y[i]", "A[i, j]", "1", "y[N]; A[N, M]", "ij")
    assert sums(source_schedule(scop), "L0", MACHINE) is None
