"""Sums behind means are made once, and again where what they read has changed."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.types import DType
from tests.unit.frontend.harness import agree
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def moments(x: po.f64["N,M"]):
    return x.mean(axis=0), x.var(axis=0), x.std(axis=0, keepdims=True)


def changed(x: po.f64["N,M"]):
    before = x.mean(axis=0)
    x += 1.0
    return before, x.var(axis=0)


def own_names(x: po.f64["N,M"]):
    mean = x.mean(axis=0)
    mean += 1.0
    again = x.mean(axis=0)
    again *= 2.0
    return mean, again, x.var(axis=0)


def other_axes(x: po.f64["N,M"]):
    return x.mean(axis=0), x.mean(axis=1), x.mean()


def under_conditions(x: po.f64["N,M"]):
    top = np.zeros(x.shape[1])
    if x[0, 0] > 0.5:
        top = x.mean(axis=0)
    return top, x.var(axis=0)


def in_loops(x: po.f64["N,M"]):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i].mean() + x[i].var()
        x[0] *= 0.5
    return total


def chosen(x: po.f64["N,M"]):
    return x.mean(axis=0, where=x > 0.25), x.var(axis=0, where=x > 0.25), x.mean(axis=0)


CASES = {
    moments: 3, changed: 3, own_names: 2, other_axes: 3, under_conditions: 3, in_loops: 2,
    chosen: 3,
}  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results(function):
    for shape in ((1, 1), (7, 5), (3, 17)):
        agree(function, np.random.default_rng(3).uniform(0.3, 1.0, shape))


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_how_many_sums_are_made(function):
    program = program_of(function)
    sums = [
        s for scop in program.scops for s in scop.statements
        if s.reduction is not None and s.target.dtype is DType.FLOAT64 and s.reduction.reassociable
    ]  # fmt: skip
    assert len(sums) == CASES[function]
