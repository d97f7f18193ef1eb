"""Python's own numbers divided by zero raise; numbers of arrays do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def quotient_of_integers(a, n, x):
    return 5 / n


def remainder_in_a_loop(a, n, x):
    s = 0
    for i in range(3):
        if i % n:
            s += 1
    return s


def by_the_loop_variable(a, n, x):
    s = 0
    for i in range(n, 3):
        s += 4 // i
    return s


def result_is_not_used(a, n, x):
    for i in range(n, n + 1):
        if i % i:
            pass
    return 1.0


def found_in_an_array(a, n, x):
    return 7 % int(a[n])


def floats_of_an_array(a, n, x):
    return 1.0 / float(a[n])


def argument_in_a_loop(a, n, x):
    s = 0.0
    for i in range(n, 4):
        s += a[i] * (2.0 / x)
    return s


def under_a_condition(a, n, x):
    s = 1.0
    if a[n] > 0:
        s = 2.0 / x
    return s


def complex_numbers(a, n, x):
    return (2 + 4j) / complex(x, 0 * n)


FUNCTIONS = [
    quotient_of_integers, remainder_in_a_loop, by_the_loop_variable, result_is_not_used,
    found_in_an_array, floats_of_an_array, argument_in_a_loop, under_a_condition, complex_numbers,
]  # fmt: skip


def ended(function: Callable[..., Any], args: tuple[Any, ...]) -> object:
    try:
        return function(*args)
    except ZeroDivisionError:
        return None


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("x", [0.0, -0.0, 2.0])
def test_zero_divisor(function, n, x) -> None:
    args = (np.array([0.0, 2.0, -1.0, 3.0, 0.0]), n, x)

    def run(*values: Any) -> object:
        return run_program(compiled(function, *values), values)

    assert ended(run, args) == ended(function, args)


def test_loops_that_do_not_run_test_nothing() -> None:
    def program(a, n, x):
        s = 0.0
        for i in range(n):
            for j in range(n - 1):
                s += a[i, j] * (1.0 / x)
        return s

    for n in (0, 1):
        agree(program, np.ones((2, 2)), n, 0.0)
    args = (np.ones((2, 2)), 2, 0.0)
    with pytest.raises(PolyoptError, match="PO0233"):
        run_program(compiled(program, *args), args)


def test_numbers_of_arrays_divide_by_zero() -> None:
    def program(a, x):
        return a[0] / x, 1.0 / a[0], a / x, a[0] % a[1]

    agree(program, np.zeros(3), 0.0)
