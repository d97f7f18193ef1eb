"""The choice between nests that were taken apart and those of the source."""

from __future__ import annotations

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.schedule import source_schedule
from polyopt.strategy.auto import SURE, auto_schedule
from polyopt.strategy.ranking import STEPS, predicted_seconds, usual_sizes
from polyopt.targets import Options
from polyopt.transforms import Affine
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

MACHINE = Machine(cores=1)


def both(A: po.f64["N,N"], B: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"]):
    for i in range(A.shape[0]):
        first = 0.0
        second = 0.0
        for j in range(A.shape[1]):
            first += A[i, j] * x[j]
            second += B[i, j] * x[j]
        y[i] = first + 2.0 * second


def repeated(A: po.f64["N,M,K"], T: int):
    for _ in range(T):
        for i in range(A.shape[0]):
            A[i, 0, 0] = A[i, 0, 0] * 0.5


def gathered(A: po.f64["N,N"], at: po.i64["N"], x: po.f64["N"], y: po.f64["N"]):
    for i in range(A.shape[0]):
        first = 0.0
        second = 0.0
        for j in range(A.shape[1]):
            first += A[i, j] * x[j]
            second += A[j, i] * x[j]
        y[i] = first + second * x[at[i]]


def _is_apart(schedule):
    return any(isinstance(step, Affine) for step in schedule.trace)


def test_the_schedule_that_is_surely_faster_is_taken():
    (scop,) = program_of(both).scops
    apart = auto_schedule(scop, MACHINE)
    assert _is_apart(apart)
    asked = []

    def seconds(ratio):
        def of(schedule):
            asked.append(_is_apart(schedule))
            return ratio if _is_apart(schedule) else 1.0

        return of

    assert not _is_apart(auto_schedule(scop, MACHINE, seconds=seconds(1.1 * SURE)))
    assert auto_schedule(scop, MACHINE, seconds=seconds(0.9 * SURE)).trace == apart.trace
    assert asked == [False, True] * 2


def test_the_program_s_own_nests_are_taken_on_a_tie_where_data_choose():
    for function, is_apart in ((both, True), (gathered, False)):
        (scop,) = program_of(function).scops
        assert _is_apart(auto_schedule(scop, MACHINE))
        assert _is_apart(auto_schedule(scop, MACHINE, seconds=lambda _: 1.0)) == is_apart


def test_compilation_asks_the_model(monkeypatch):
    asked = []

    def predicted(lower, machine, schedule):
        asked.append(_is_apart(schedule))
        return 1.0

    monkeypatch.setattr("polyopt.strategy.predicted_seconds", predicted)
    compile_program(program_of(both), Options(), MACHINE)
    assert asked == [False, True]


def test_usual_sizes_make_large_arrays():
    program = program_of(repeated)
    loops = lower((source_schedule(program.scops[0]),), program)
    assert sorted(usual_sizes(loops).values()) == [STEPS, 159, 159, 159]


def test_seconds_are_those_of_a_usual_machine():
    program = program_of(both)
    loops = lower((source_schedule(program.scops[0]),), program)
    assert usual_sizes(loops) == {"N": 2000}
    at_least = 2000 * 2000 * 4 / 3e9  # each addition waits for the one before
    assert at_least < predicted_seconds(loops, MACHINE) < 4 * at_least
