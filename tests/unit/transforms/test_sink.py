"""Sink: a loop becomes the innermost one around every statement below it."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.schedule import source_schedule
from polyopt.strategy.outer_vectorization import vectorize_outer_loops
from polyopt.transforms import Sink
from tests.checks import assert_computes, assert_illegal, assert_round_trip
from tests.reading import read

COLUMNS = """
for o in range(N):
    total[o] = 0
    for b in range(M):
        for t in range(M):
            total[o] = total[o] + A[b, t, o]
"""
DIAGONAL = """
for i in range(1, N):
    for j in range(M - 1):
        A[i, j] = A[i - 1, j + 1]
"""
PLAIN = """
for i in range(N):
    for j in range(M):
        B[i, j] = A[i, j] + 1
"""


def columns():
    return read(COLUMNS, "total[N]; A[M, M, N]", "N M")


def test_the_loop_ends_up_inside_sequences_and_bands():
    sunk = assert_computes(columns(), Sink("o"))
    loops = [line for line in str(sunk).splitlines() if "for o" in line]
    assert len(loops) == 2
    assert "[L0.lanes[0]]" in loops[0]


def test_text():
    assert_round_trip(Sink("L0[1]"))


def test_an_innermost_loop_cannot_sink():
    with pytest.raises(ScheduleError) as caught:
        source_schedule(columns()).apply(Sink("t"))
    assert caught.value.code == "PO0306"


def test_illegal():
    scop = read(DIAGONAL, "A[N, M]", "N M")
    error, witness = assert_illegal(scop, "PO0311", Sink("i"))
    assert (witness.source, witness.target) == (("S0", (1, 1)), ("S0", (2, 0)))
    assert "sink(i)" in error.message


def test_lanes_across_independent_recurrences():
    found = vectorize_outer_loops(source_schedule(columns()))
    assert any(isinstance(step, Sink) for step in found.trace)
    assert "# vector" in str(found)
    assert_computes(columns(), *found.trace)


def test_nests_with_lanes_of_their_own_are_left_alone():
    schedule = source_schedule(read(PLAIN, "A[N, M]; B[N, M]", "N M"))
    assert vectorize_outer_loops(schedule) is schedule
