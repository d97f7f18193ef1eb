"""Statements whose values nothing reads need not run; all others must."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import Assign, Body, Node
from tests.unit.proof.edits import edited, loops_of, reasons

# ruff: noqa: F821, UP037 - sizes are named by strings


def overwritten(x: po.f64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        y[i] = t[i]


def overwritten_twice(x: po.f64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = t[i] + x[i]
    for i in range(x.shape[0]):
        t[i] = x[i] * 2.0
        y[i] = t[i]


def but_for_the_first(x: po.f64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        t[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        y[i] = t[i]


def under_a_condition(x: po.f64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            t[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        y[i] = t[i]


def somewhere(x: po.f64["N"], k: po.i64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        t[k[i]] = x[i] * 2.0
    for i in range(x.shape[0]):
        y[i] = t[i]


def read_before(x: po.f64["N"], y: po.f64["N"]):
    t = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = t[i]
        t[i] = x[i] * 2.0
        y[i] = y[i] + t[i]


def of_the_caller(x: po.f64["N"], y: po.f64["N"]):
    for i in range(x.shape[0]):
        y[i] = 0.0
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * 2.0


def without(body: Body, *names: str) -> Body:
    """Return `body` without the runs of statements."""

    def change(node: Node) -> tuple[Node, ...]:
        return () if isinstance(node, Assign) and node.statement in names else (node,)

    return edited(body, change)


@pytest.mark.parametrize(
    ("function", "names"), [(overwritten, ("S0",)), (overwritten_twice, ("S0", "S1"))]
)
def test_values_that_are_overwritten_before_any_read_need_no_runs(function, names):
    body = loops_of(function).body
    assert without(body, *names) != body
    assert reasons(function, without(body, *names)) == ""


def test_what_only_dead_statements_read_stays_defined_for_them():
    """The sum still runs: what it reads has to be there."""
    assert "S0" in reasons(overwritten_twice, without(loops_of(overwritten_twice).body, "S0"))


@pytest.mark.parametrize(
    "function", [but_for_the_first, under_a_condition, somewhere, read_before, of_the_caller]
)
def test_values_that_may_be_read_are_missed(function):
    body = loops_of(function).body
    assert reasons(function, body) == ""
    assert without(body, "S0") != body
    assert "S0" in reasons(function, without(body, "S0"))
