"""Arrays that hold one thing, then another: several arrays where that makes them smaller."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.schedule.privatize import privatize
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def sweeps(x: po.f64["T,N"]):
    p = np.zeros((2, x.shape[1]))
    for t in range(x.shape[0]):
        for i in range(2):
            p[i, 0] = x[t, i]
            for j in range(1, x.shape[1]):
                p[i, j] = p[i, j - 1] * 0.5 + x[t, j]
        for i in range(2):
            for j in range(x.shape[1]):
                x[t, j] += p[i, j]
        for i in range(2):
            p[i, 0] = 1.0
            for j in range(1, x.shape[1]):
                p[i, j] = p[i, j - 1] - x[t, j]
            x[t, 0] += p[i, 0]


def ping_pong(x: po.f64["N"], steps: po.i64):
    p = np.zeros(x.shape[0])
    for _ in range(steps):
        for i in range(x.shape[0]):
            p[i] = x[i] * 2.0
        for i in range(x.shape[0]):
            x[i] = p[i] + 1.0


def in_turn(x: po.f64["N"], out: po.f64["N"]):
    p = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        p[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        out[i] = p[i] + 1.0
    for i in range(x.shape[0]):
        p[i] = x[i] * 3.0
    for i in range(x.shape[0]):
        out[i] += p[i]


def names_of(function):
    """Return the arrays of a program whose temporaries were taken apart."""
    return {array.name for array in privatize(program_of(function).scop).arrays}


def test_what_holds_one_thing_and_then_another_is_several_arrays():
    """What the first sweep makes outlives its loop, and has the array with the zeros."""
    assert names_of(sweeps) == {"x", "p_1", "p_2"}


@pytest.mark.parametrize("function", [ping_pong, in_turn])
def test_arrays_that_could_not_be_smaller_stay_one(function):
    assert "p" in names_of(function)


@pytest.mark.toolchain
def test_arrays_taken_apart_are_right():
    x = np.random.default_rng(0).normal(size=(3, 9))
    expected = x.copy()
    sweeps(expected)
    kernel = po.kernel(sweeps)
    kernel(x)
    np.testing.assert_array_equal(x, expected)
    assert kernel.compile(x).stages.dropped == ()
