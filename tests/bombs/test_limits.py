"""Wherever isl is stopped, a program is compiled to what it means, or refused with a code."""

from __future__ import annotations

import pytest

from polyopt import pipeline
from polyopt.errors import BudgetError
from polyopt.ir.budget import query
from polyopt.ir.interruption import make_stopwatch
from polyopt.proof import Certificate
from polyopt.proving import Proven
from polyopt.schedule import schedule
from tests.bombs.limits import PROGRAMS, compiled, numbers, outcome, seidel, stopped_at, triangle

POINTS, STOPS = 13, 8


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_stop_anywhere_changes_no_result(function):
    met = {operations: outcome(function, operations) for operations in numbers(POINTS)}
    assert set(met.values()) <= {"same", "less", "PO0701", "PO0705"}, met
    assert met[1] == "PO0701"
    assert outcome(function, None) == "same"


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_stop_of_any_one_question_changes_no_result(function):
    with stopped_at(0) as times:
        outcome(function, None)
    met = {}
    step = len(times) // STOPS | 1  # odd: every second question asks of another candidate
    for number in range(1, len(times) + 1, step):
        with stopped_at(number):
            met[number] = outcome(function, None)
    assert set(met.values()) <= {"same", "less", "PO0701", "PO0703", "PO0705"}, met
    assert "less" in met.values() or function is not seidel


def test_a_stop_that_is_taken_for_an_answer_is_noticed(monkeypatch):
    judge = schedule.check_legal

    def forgiving(*args):
        try:
            with query("legal"):
                return judge(*args)
        except BudgetError:
            return None

    def unproven(program, forms):
        return Proven(forms[0].make(), Certificate(program.name, ()), 0)

    monkeypatch.setattr(schedule, "check_legal", forgiving)
    monkeypatch.setattr(pipeline, "first_proven", unproven)
    with stopped_at(0, "legal") as times:
        assert outcome(triangle, None) == "same"
    met = []
    for number in range(1, len(times) + 1):
        with stopped_at(number, "legal"):
            met.append(outcome(triangle, None))
    assert any(one.startswith("wrong") for one in met)


def test_without_a_limit_nothing_is_left_out_and_questions_are_counted():
    made = compiled(next(iter(PROGRAMS)), None)
    assert made.dropped == ()
    assert made.costs["making loops"].calls >= 1
    assert make_stopwatch() is None or made.costs["affine(min)"].operations > 1000
