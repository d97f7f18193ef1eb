"""Numbers are computed in the iterations that read them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.frontend.harness import agree, compiled


def pairs(x, reach, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = x[i] * x[j] + x[j]
            if i != j and d < reach:
                out[i] += d * d


def chained(x, out):
    for i in range(x.shape[0]):
        a = x[i] + 1.0
        b = a * a + x[i]
        if i >= 3:
            out[i] = b * b + a


def kept(x, out):
    d = 0.5
    for i in range(x.shape[0]):
        if i >= 2:
            out[i] = d + d * d
        d = x[i] * x[i] + 1.0


def after(x, out):
    d = 0.0
    for i in range(x.shape[0]):
        d = x[i] + x[i] * x[i]
        if i > 1:
            out[i] = d * d
    out[0] += d


def instances(program, array):
    (found,) = (s.domain for s in program.scop.statements if s.target.array == array)
    return found


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_results_are_those_of_python(n):
    x = np.random.default_rng(n).random(n)
    agree(pairs, x, 0.7, np.zeros(n))
    agree(chained, x, np.zeros(n))
    agree(kept, x, np.zeros(n))
    agree(after, x, np.zeros(n + 1))


def test_a_number_is_not_computed_where_an_affine_condition_leaves_its_reader_out():
    x = np.ones(5)
    assert "j < i" in str(instances(compiled(pairs, x, 0.7, np.zeros(5)), "d"))
    program = compiled(chained, x, np.zeros(5))
    for array in ("a", "b"):
        assert "3 <= i" in str(instances(program, array))


@pytest.mark.parametrize("func", [kept, after])
def test_a_number_that_outlives_its_iteration_is_computed_in_all(func):
    program = compiled(func, np.ones(5), np.zeros(6))
    domains = [s.domain for s in program.scop.statements if s.target.array == "d"]
    assert any("0 <= i" in str(domain) for domain in domains)
