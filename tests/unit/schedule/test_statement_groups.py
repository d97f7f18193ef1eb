"""Statements that hand elements to each other within an iteration are scheduled as one."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.statement_groups import groups_of
from polyopt.strategy import auto_schedule
from polyopt.transforms import Affine, Fusion
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

MACHINE = Machine(cores=2, vector_bytes=32)


def slopes(u: po.f64["N,M"], steps: int):
    for _ in range(steps):
        left = u[1:-1, :-2] - u[1:-1, 1:-1]
        right = u[1:-1, 2:] - u[1:-1, 1:-1]
        above = u[:-2, 1:-1] - u[1:-1, 1:-1]
        change = left * abs(left) + right * abs(right)
        change += above * above
        u[1:-1, 1:-1] += 0.1 * change


def lines(u: po.f64["N"], steps: int):
    for _ in range(steps):
        a = u[:-2] - u[1:-1]
        b = u[2:] - u[1:-1]
        u[1:-1] += 0.1 * (a * a - b * b) + 0.2 * (a + b)


def shifted(u: po.f64["N,M"], steps: int):
    for _ in range(steps):
        a = u * u
        u[1:-1, 1:-1] = a[:-2, 1:-1] - a[2:, 1:-1] * a[1:-1, 1:-1]


def halves(u: po.f64["N,2*M+1"], steps: int):
    for _ in range(steps):
        a = u[1:-1, :-2:2] + u[1:-1, 2::2]
        b = u[:-2, 1:-1:2] + u[2:, 1:-1:2]
        change = a * a - b
        u[1:-1, 1:-1:2] += 0.1 * change * a


def once(u: po.f64["N,M"], v: po.f64["N,M"]):
    a = u * u
    b = a + u
    v[:] = a * b


def groups(function):
    scop = program_of(function).scop
    found = groups_of(scop, dependences_of(scop).scheduling)
    return [[scop.statements.index(s) for s in group] for group in found]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (slopes, [[0, 1, 2, 3, 4]]),  # not the update, before which neighbours read
        (lines, []),  # each is used by that update only
        (shifted, []),  # neighbours read the temporary
        (halves, []),  # strided accesses have no lanes
        (once, []),  # no loop around fills it again
    ],
)
def test_groups(function, expected):
    assert groups(function) == expected


def test_a_group_has_one_shift():
    schedule = source_schedule(program_of(slopes).scop).apply(Affine(Fusion.MIN))
    (loops, *_) = [line for line in str(schedule.tree).splitlines() if line.strip()]
    assert len(schedule.tree.members) == 3
    last = str(schedule.tree.members[2].schedule)
    values = {part.split("->")[1].split("]")[0] for part in last.split(";") if "->" in part}
    assert len(values) == 2, loops


def test_values_of_an_iteration_need_no_rows():
    """All uses of a slope are in one loop with lanes; the sums wait for the update."""
    text = auto_schedule(program_of(slopes).scop, MACHINE).text
    assert text.count("vectorize") == 2
    assert "fuse" in text


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [slopes, shifted])
def test_results(function, fp):
    kernel = po.kernel(function, threads=2, fp=fp)
    rng = np.random.default_rng(4)
    for n, m, steps in ((2, 3, 2), (3, 3, 0), (5, 4, 3), (70, 133, 9), (133, 300, 40)):
        mine = rng.uniform(0, 0.5, (n, m))
        theirs = mine.copy()
        kernel(mine, steps)
        function(theirs, steps)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
