"""Scales of contractions: where they go, what is left alone, results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.showing import show
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.scales import with_scaled_rows
from tests.texts import bare

# ruff: noqa: F821, UP037 - sizes are named by strings


def product(s: po.f64, c: po.f64["N,M"], a: po.f64["N,K"], b: po.f64["K,M"]):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += s * a[i, k] * b[k, j]


def triangle(s: po.f64, c: po.f64["N,N"], a: po.f64["N,N"], b: po.f64["N,N"]):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(i):
                c[i, j] += s * a[i, k] * b[k, j]


def by_columns(s: po.f64, c: po.f64["N,N"], a: po.f64["N,K"]):
    for i in range(c.shape[0]):
        for j in range(i + 1):
            for k in range(a.shape[1]):
                c[i, j] -= a[j, k] * s * a[i, k] * 2.0


def two(s: po.f64, c: po.f64["N,N"], a: po.f64["N,K"], b: po.f64["N,K"]):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += s * a[i, k] * b[j, k] + a[j, k] * s * b[i, k]


def of_vector(s: po.f64, y: po.f64["N"], a: po.f64["N,M"], x: po.f64["M"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += s * a[i, j] * x[j]


def three(s: po.f64, c: po.f64["N,M"], a: po.f64["N,K"], b: po.f64["K,M"], d: po.f64["K"]):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += s * a[i, k] * b[k, j] * d[k]


def outer(s: po.f64, c: po.f64["N,M"], a: po.f64["N"], b: po.f64["M"]):
    for _t in range(3):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] += s * a[i] * b[j]


def own(s: po.f64, c: po.f64["N,N"]):
    for k in range(c.shape[0]):
        for i in range(k + 1, c.shape[0]):
            for j in range(k + 1, c.shape[0]):
                c[i, j] -= s * c[i, k] * c[k, j]


def changed(function, *, open_order=True):
    program = build(function, infer_types(function))
    program = reassociated(program) if open_order else program
    (statement,) = with_scaled_rows(program).scop.statements
    (before,) = program.scop.statements
    return show(statement.value), statement is before


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (triangle, "c[i, j] + a[i, k] * (s * b[k, j])"),
        (by_columns, "c[i, j] + -(a[i, k] * (s * 2.0 * a[j, k]))"),
        (own, "c[i, j] + -(c[i, k] * (s * c[k, j]))"),
        (two, "c[i, j] + (a[i, k] * (s * b[j, k]) + b[i, k] * (s * a[j, k]))"),
    ],
)
def test_scales_go_with_what_varies_along_rows(function, value):
    assert changed(function) == (value, False)


@pytest.mark.parametrize("function", [product, of_vector, three, outer])
def test_other_sums_are_left(function):
    assert changed(function)[1]


def test_sums_in_the_order_of_the_source_are_left():
    assert changed(triangle, open_order=False)[1]


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [product, triangle, by_columns, two])
def test_results(function, dtype):
    """A number of Python is a double, beside elements of either type."""
    untyped = po.kernel(fp="reassociate", threads=2)(_bare(function))
    for size in (1, 7, 75):
        rng = np.random.default_rng(size)
        arrays = [
            rng.standard_normal((size, size)).astype(dtype)
            for _ in range(function.__code__.co_argcount - 1)
        ]
        want = [array.astype("float64") for array in arrays]
        function(0.75, *want)
        untyped(0.75, *arrays)
        bound = 4 * (2 * size + 4) * np.finfo(dtype).eps * size
        assert np.abs(arrays[0] - want[0]).max() <= bound, size


def _bare(function):
    """Return the function without types for its parameters: they are those of each call."""
    bare = type(function)(function.__code__, function.__globals__, function.__name__)
    bare.__annotations__ = {}
    return bare


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [product, by_columns])
def test_a_number_of_python_stays_out_of_the_inner_loop(function):
    arrays = [np.ones((64, 64), np.float32) for _ in range(function.__code__.co_argcount - 1)]
    kernel = po.kernel(fp="reassociate", threads=1)(_bare(function))
    text = bare(kernel.compile(0.5, *arrays).source)
    sums = next(line for line in text.splitlines() if re.search("_(panel|from)_v, ", line))
    inside = text[text.index(sums) :].split("for (")[0]
    assert "(float)s" in text
    assert "(float)s" not in inside
