"""Programs that `python -m tests.hostile` found to go wrong, as small as they get."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.ir.interp import run_program
from polyopt.specialize import Parameters, types_of


def interpreted(function, *args):
    types = types_of(Parameters.of(function), args, frozenset())
    return run_program(build(function, types), args)


def search_then_break(a, x):
    while True:
        for i in range(3):
            if a[i] > x:
                return a[i]
        else:
            break
    return x * 4


def return_in_else_of_inner_loop(a, x):
    for i in range(2):
        for j in range(len(a)):
            x += a[j]
        else:
            return x + i
    return x + 100


def return_in_branch_of_else(a, x):
    for i in range(2):
        for j in range(len(a)):
            x += a[j]
        else:
            if x > 8:
                return x + i
    return x + 100


def loop_that_returns_in_else(a, x):
    for y in a:
        x += y
    else:
        for i in range(len(a)):
            if a[i] > x - 5:
                return a[i]
    return x


def inverted_subscript(a, x):
    for i in range(len(a)):
        x += a[~i] * i
    return x


def inverted_condition(a, n):
    x = 0.0
    if ~n:
        x += a[0]
    return x


def function_in_branch(a, x):
    if x > 1:

        def twice(y):
            return 2 * y

        x = twice(x) + a[0]
    return x


@pytest.mark.parametrize(
    "function",
    [
        function_in_branch,
        search_then_break,
        return_in_else_of_inner_loop,
        return_in_branch_of_else,
        loop_that_returns_in_else,
        inverted_subscript,
    ],
)
@pytest.mark.parametrize("x", [0.5, 7.0, 100.0])
def test_same_result(function, x):
    a = np.array([1.0, 2.0, 3.0])
    assert interpreted(function, a, x) == function(a, x)


@pytest.mark.parametrize("n", [-1, 0, 3])
def test_condition_of_inverted_bits(n):
    a = np.array([1.0])
    assert interpreted(inverted_condition, a, n) == inverted_condition(a, n)


def unused_element_in_while(a):
    w = 1
    while w < 4:
        unused = a[2]  # noqa: F841
        w += 1


def test_loop_without_effect_checks_subscripts():
    unused_element_in_while(np.zeros(3))
    assert interpreted(unused_element_in_while, np.zeros(3)) is None
    with pytest.raises(PolyoptError, match="PO0170"):
        interpreted(unused_element_in_while, np.zeros(1))


def complex_order(z, x):
    return 1.0 if z > x else 2.0


@pytest.mark.toolchain
def test_complex_numbers_of_python_have_no_order():
    with pytest.raises(TypeError):
        complex_order(1j, 2.0)
    with pytest.raises(PolyoptError, match="PO0146"):
        po.kernel(complex_order).compile(1j, 2.0)


def set_in_a_loop_that_may_not_run(a):
    for k in (1, 2):
        w = k
        while w < len(a):
            t = np.zeros(len(a))
            w += 1
    return t[0]


def test_names_without_a_value_after_both_copies_of_a_loop():
    with pytest.raises(PolyoptError, match="PO0125"):
        interpreted(set_in_a_loop_that_may_not_run, np.ones(1))
