"""Steps that move values of several arrays: judged together, with the verdicts of one by one."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.schedule import data, source_schedule
from polyopt.schedule.schedule import attempt_each
from polyopt.transforms import Contract, Dimension, LayOut

# ruff: noqa: F821 - sizes are named by strings

TRANSPOSED = (Dimension(1), Dimension(0))
LAY_OUT = (LayOut("t", TRANSPOSED), LayOut("u", TRANSPOSED))
TOO_FEW = Contract("u", (1, 1))


def two(a: po.f64[N, N], b: po.f64[N, N]):
    n = a.shape[0]
    t = np.zeros((n, n))
    u = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            t[i, j] = a[i, j] * 2.0
            u[i, j] = a[i, j] + 1.0
    for i in range(n):
        for j in range(n):
            b[i, j] = t[j, i] * u[i, j]


@pytest.fixture
def judged(monkeypatch):
    """Return a list with an entry for each time that values were compared."""
    found: list[object] = []
    compare = data.first_difference
    monkeypatch.setattr(data, "first_difference", lambda *a: found.append(a) or compare(*a))
    return found


@pytest.fixture
def schedule():
    return source_schedule(build(two, infer_types(two)).scop)


def test_they_are_judged_once_and_lead_to_the_same(schedule, judged):
    together = schedule.attempt(*LAY_OUT)
    assert together is not None
    assert len(judged) == 1
    apart = schedule.apply(*LAY_OUT)
    assert len(judged) == 3
    assert str(together.scop) == str(apart.scop)
    assert str(together) == str(apart)
    assert together.text == apart.text
    assert together.undo().text == str(LAY_OUT[0])


def test_one_that_is_not_legal_refuses_all(schedule):
    assert schedule.attempt(TOO_FEW) is None
    assert schedule.attempt(LAY_OUT[0], TOO_FEW) is None
    assert schedule.attempt(TOO_FEW, LAY_OUT[0]) is None


def test_those_that_are_legal_are_taken(schedule):
    assert attempt_each(schedule, (TOO_FEW, *LAY_OUT)).trace == LAY_OUT
    assert attempt_each(schedule, ()) is schedule
