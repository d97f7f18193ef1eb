"""Loops over one chosen iteration: the loop goes where that is all it does, and only there."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def marked(t: po.i64["N"], x: po.f64["N,M"], found: po.f64["N"]):
    for i in range(t.shape[0]):
        for j in range(x.shape[1]):
            if j == t[i]:
                found[i] = x[i, j]


def marked_from_right(t: po.i32["N"], x: po.f64["N,M"], found: po.f64["N"]):
    for i in range(t.shape[0]):
        for j in range(1, x.shape[1] - 1):
            if t[i] == j and x[i, j] > 0:
                found[i] = found[i] + x[i, j]


def moving(t: po.i64["N"], x: po.f64["N,M"], found: po.f64["N"]):
    for i in range(t.shape[0]):
        for j in range(x.shape[1]):
            if j == t[i]:
                found[i] += x[i, j]
                t[i] = j + 2


def others_too(t: po.i64["N"], x: po.f64["N,M"], found: po.f64["N"]):
    for i in range(t.shape[0]):
        for j in range(x.shape[1]):
            if j == t[i]:
                found[i] += x[i, j]
            else:
                found[i] -= 1.0


def last_of_none(t: po.i64["N"], x: po.f64["N,M"], found: po.f64["N"]):
    for j in range(t.shape[0]):
        if j == t[t.shape[0] - 1]:
            found[j] = 7.0


FUNCTIONS = [marked, marked_from_right, moving, others_too, last_of_none]
GONE = {marked, marked_from_right, last_of_none}


@pytest.mark.parametrize("func", FUNCTIONS)
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("columns", [0, 1, 2, 9])
def test_results(func, fp, columns):
    dtype = np.int32 if func is marked_from_right else np.int64
    t = np.array([-3, -1, 0, 1, columns - 1, columns, 5, 2**31 - 1], dtype)
    if dtype is np.int64:
        t[-1], t[0] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    x = np.random.default_rng(1).normal(size=(len(t), columns))
    mine, theirs = (t, x, np.zeros(len(t))), (t.copy(), x, np.zeros(len(t)))
    kernel = po.kernel(func, threads=1, fp=fp)
    kernel(*mine)
    func(*theirs)
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-12)


def test_nothing_is_read_where_the_loop_has_no_iteration():
    none = np.zeros(0, np.int64)
    po.kernel(last_of_none, threads=1)(none, np.zeros((0, 3)), np.zeros(0))
    text = po.kernel(last_of_none, threads=1).compile(none, np.zeros((0, 3)), np.zeros(0)).source
    assert "if (0 < N)" in text


@pytest.mark.parametrize("func", FUNCTIONS)
def test_loops_go_where_other_iterations_do_nothing(func):
    dtype = np.int32 if func is marked_from_right else np.int64
    given = np.zeros(2, dtype), np.zeros((2, 3)), np.zeros(2)
    text = po.kernel(func, threads=1, schedule="source").compile(*given).source
    assert ("j++" not in text) == (func in GONE)
