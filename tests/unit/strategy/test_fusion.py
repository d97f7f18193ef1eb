"""Nests share loops: checks with the values that they check, nests around short loops."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.schedule.tree import bands, statements_at
from polyopt.strategy import auto_schedule
from polyopt.strategy.vector import only_checks
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
TWO = Machine(cores=2)


def smoothed(x: po.f64["N"], at: po.i64["K"], out: po.f64["K"]):
    for k in range(1, at.shape[0]):
        out[k] = out[k - 1] * 0.5 + x[at[k]]


def counted(x: po.f64["N"], at: po.i64["K"], out: po.f64["K"]):
    for k in range(at.shape[0]):
        x[at[k]] += 1.0


def binned(x: po.f64["N"], y: po.f64["N"], out: po.i64["B,B"]):
    for n in range(x.shape[0]):
        out[int(x[n] * 5), int(y[n] * 5)] += 1


def weighted(x: po.f64["N"], at: po.i64["R,K"], w: po.f64["R,K"], out: po.f64["R"]):
    for r in range(at.shape[0]):
        for k in range(at.shape[1]):
            out[r] += w[r, k] * x[at[r, k]]


def voted(on: po.u8["M,N"], votes: po.i64["V,T"]):
    for y in range(on.shape[0]):
        for x in range(on.shape[1]):
            if on[y, x] > 128:
                for t in range(votes.shape[1]):
                    votes[int(0.3 * x * t + y), t] += 1


def grown(x: po.f64["N,M"], out: po.f64["N,M"]):
    out[1:-1, 1:-1] = x[1:-1, 1:-1]
    for d in range(3):
        for e in range(3):
            window = x[d : d + out.shape[0] - 2, e : e + out.shape[1] - 2]
            out[1:-1, 1:-1] = np.maximum(out[1:-1, 1:-1], window)


def innermost(program):
    """Return the automatic schedule of `program`, and its innermost loops by what they check."""
    schedule = auto_schedule(program_of(program).scop, TWO)
    return schedule, [
        (band.members[-1], {schedule.scop.array(s.target.array).role for s in statements})
        for band in bands(schedule.tree)
        if next(iter(bands(band.child)), None) is None
        for statements in [statements_at(schedule.tree, schedule.scop, band.label)]
    ]


@pytest.mark.parametrize("program", [smoothed, binned, weighted, counted, voted])
def test_a_check_is_made_where_its_value_is_used(program):
    schedule, loops = innermost(program)
    assert [Role.FAULT in roles for _, roles in loops] == [True]
    assert not any(only_checks(schedule, band.label) for band in bands(schedule.tree))


@pytest.mark.toolchain
def test_nests_are_fused_around_short_loops_that_were_outside():
    kernel = po.kernel(grown, threads=2, fp="reassociate")
    x = np.random.default_rng(1).random((9, 70))
    mine, theirs = np.zeros_like(x), np.zeros_like(x)
    kernel(x, mine)
    grown(x, theirs)
    assert np.array_equal(mine, theirs)
    assert kernel.compile(x, mine).source.count("omp parallel") == 1


@pytest.mark.toolchain
def test_sums_of_elements_that_data_choose_run_one_by_one():
    kernel = po.kernel(weighted, threads=1, fp="reassociate")
    x, at, w = np.arange(5.0), np.array([[3, -1, 4], [0, -5, 2]]), np.ones((2, 3))
    mine, theirs = np.zeros(2), np.zeros(2)
    kernel(x, at, w, mine)
    weighted(x, at, w, theirs)
    assert np.allclose(mine, theirs)
    assert "omp simd" not in kernel.compile(x, at, w, mine).source


@pytest.mark.toolchain
def test_a_check_compares_the_subscript_with_both_ends():
    arguments = np.arange(5.0), np.array([3, -1]), np.zeros(2)
    text = po.kernel(smoothed).compile(*arguments).source
    assert re.search(r"if \((\w+) < 0 \|\| \1 >= \w+\) \{", text)
    assert "bad_" not in text


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("program", [smoothed, counted])
def test_subscripts_outside_are_told_in_one_loop_too(program, fp):
    kernel = po.kernel(program, fp=fp)
    at = np.array([3, -1, 4, 0, -5, 3, 3, 2])
    mine, theirs = ((np.arange(5.0), at, np.zeros(8)) for _ in range(2))
    kernel(*mine)
    program(*theirs)
    assert np.array_equal(mine[0], theirs[0])
    assert np.array_equal(mine[2], theirs[2])
    for wrong in (5, -6):
        with pytest.raises(IndexError, match="out of bounds"):
            kernel(np.arange(5.0), np.append(at, wrong), np.zeros(9))
