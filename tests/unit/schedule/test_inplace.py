"""Sums in the element they become: which are, what is left alone, results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.scop import Role
from polyopt.ir.showing import show
from polyopt.schedule.inplace import with_sums_in_place
from polyopt.schedule.reductions import reassociated

# ruff: noqa: F821, UP037 - sizes are named by strings


def dots(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])


def columns(a: po.f64["N,N"]):
    for j in range(a.shape[0]):
        a[j:, j] -= a[j:, :j] @ a[j, :j]
        a[j, j] = np.sqrt(a[j, j])
        a[j + 1 :, j] /= a[j, j]


def copied(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            w = a[i, j]
            for k in range(j):
                w -= a[i, k] * a[j, k]
            a[i, j] = w / a[j, j]
        w = a[i, i]
        for k in range(i):
            w -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(w)


def solved(a: po.f64["N,N"], x: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]


def solved_down(a: po.f64["N,N"], x: po.f64["N"], b: po.f64["N"]):
    n = a.shape[0]
    for i in range(n):
        b[i] = b[i] * 0.5
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]


DONE = (dots, columns, copied, solved, solved_down)


def scaled(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = a[i, j] - 0.5 * (a[i, :j] @ a[j, :j])


def twice(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            w = a[i, :j] @ a[j, :j]
            a[i, j] = (a[i, j] - w) / (w + 9.0)


def own_again(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            w = a[i, :j] @ a[j, :j]
            a[i, j] = (a[i, j] - w) * a[i, j]


def reads_itself(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = a[i, j] - a[i, : j + 1] @ a[j, : j + 1]


def seen_between(a: po.f64["N,N"], d: po.f64["N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            w = 0.0
            for k in range(j):
                w += a[i, k] * a[j, k]
            d[i] = a[i, j]
            a[i, j] = a[i, j] - w


def start_changes(a: po.f64["N,N"], d: po.f64["N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            w = 0.0
            for k in range(j):
                w += a[i, k] * a[j, k]
            d[j] = d[j] * 0.5 + 1.0
            a[i, j] = d[j] - w


def neighbours(a: po.f64["N,N"]):
    for i in range(1, a.shape[0]):
        for j in range(1, i):
            w = 0.0
            for k in range(j):
                w += a[i, k] * a[j, k]
            a[i, j - 1] = a[i, j - 1] - w


def others(c: po.f64["N,N"], a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i):
            c[i, j] = c[i, j] - a[i, :j] @ a[j, :j]


LEFT = (scaled, twice, own_again, reads_itself, seen_between, start_changes, neighbours, others)


def changed(function):
    program = reassociated(build(function, infer_types(function)))
    return with_sums_in_place(program), program


@pytest.mark.parametrize("function", DONE)
def test_no_temporary_is_left(function):
    program, before = changed(function)
    assert any(a.role is Role.TEMP for a in before.scop.arrays)
    assert not any(a.role is Role.TEMP for a in program.scop.arrays)


def test_the_steps_of_a_substitution():
    program, _ = changed(solved)
    assert [f"{show(s.target)} = {show(s.value)}" for s in program.scop.statements] == [
        "x[i] = b[i]",
        "x[i] = x[i] + -(a[i, j] * x[j])",
        "x[i] = x[i] / a[i, i]",
    ]


@pytest.mark.parametrize("function", LEFT)
def test_other_sums_are_left(function):
    program, before = changed(function)
    assert program.scop is before.scop


@pytest.mark.toolchain
def test_the_source_s_order_keeps_temporaries():
    assert "x[i] = x[i]" not in po.kernel(solved).compile().source


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [*DONE, *LEFT])
def test_results(function, fp, threads):
    kernel = po.kernel(fp=fp, threads=threads)(function)
    for size in (0, 1, 2, 9, 64, 131):
        assert_results(function, kernel, size)


def assert_results(function, kernel, size):
    rng = np.random.default_rng(size)
    count = function.__code__.co_argcount
    half = rng.standard_normal((size, size)) / max(size, 1)
    matrix = half @ half.T + 2.0 * np.eye(size)
    vectors = function in (solved, solved_down, seen_between, start_changes)
    rest = [rng.random(size) if vectors else matrix.copy() for _ in range(count - 1)]
    found = [matrix.copy(), *(part.copy() for part in rest)]
    want = [part.copy() for part in found]
    function(*want)
    kernel(*found)
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
