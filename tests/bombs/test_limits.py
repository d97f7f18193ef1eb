"""Wherever isl is stopped, a program is compiled to what it means, or refused with a code."""

from __future__ import annotations

import pytest

from polyopt.ir.stopwatch import make_stopwatch
from tests.bombs.limits import PROGRAMS, compiled, numbers, outcome

POINTS = 25


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_stop_anywhere_changes_no_result(function):
    met = {operations: outcome(function, operations) for operations in numbers(POINTS)}
    assert set(met.values()) <= {"same", "less", "PO0701"}, met
    assert met[1] == "PO0701"
    assert "less" in met.values()
    assert outcome(function, None) == "same"


def test_without_a_limit_nothing_is_left_out_and_questions_are_counted():
    made = compiled(next(iter(PROGRAMS)), None)
    assert made.dropped == ()
    assert made.costs["making loops"].calls == 1
    assert make_stopwatch() is None or made.costs["affine(min)"].operations > 1000
