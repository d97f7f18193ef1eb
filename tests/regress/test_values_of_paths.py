"""Values that depend on the path: sides of conditionals, names of loops that may not run."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import agree, compiled


def integer_or_float(a, n):
    x = a[0] if a[0] > 2 else n / 4.0
    return x + 1.5


def stored_side(a, n):
    a[0] -= a[1] if a[1] > 2 else 2
    return (a[0] if n > 2 else a[1] / 4.0) * 3.0


def operands_of_extrema(a, n):
    return max((a[0] if a[1] > 2 else n * 0.5), 0) + 0.0


def sides_in_a_loop(a, n):
    total = 0.0
    for i in range(n):
        total += a[0] // 2 if a[0] > i else (n - 0.5) // 2
    return total


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("items", [[5, 4, 3], [1, 4, 3], [1, -2, 2]], ids=range(3))
@pytest.mark.parametrize(
    "func", [integer_or_float, stored_side, operands_of_extrema, sides_in_a_loop]
)
def test_sides_of_different_types(func, items, n):
    agree(func, np.array(items), n)


def test_an_integer_that_a_float_does_not_hold():
    values = np.array([2**53 + 1, 3, 2]), 1
    with pytest.raises(PolyoptError, match="PO0234"):
        run_program(compiled(integer_or_float, *values), values)


def set_in_while(a, n):
    i = 0
    while i < n:
        v = a[i] * 2
        i += 1
    return v if n > 0 else -1.0


def set_in_a_branch_in_while(a, n):
    i = 0
    while i < n:
        if a[i] > 3:
            v = i
        i += 1
    a[0] = v


def kept_from_an_earlier_turn(a, n):
    total = 0.0
    for t in range(n):
        i = 0
        while i < n and a[i] > 3 * t:
            v = a[i] * 2
            i += 1
        if t > 0:
            total += v
    return total


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("func", [set_in_while, set_in_a_branch_in_while,
                                  kept_from_an_earlier_turn])  # fmt: skip
def test_names_that_a_while_loop_sets(func, n):
    agree(func, np.array([5.0, 4.0, 3.0]), n)


@pytest.mark.parametrize("func", [set_in_a_branch_in_while, kept_from_an_earlier_turn])
def test_names_that_no_turn_sets(func):
    values = np.array([0.0, 1.0, 2.0]), 2
    with pytest.raises(PolyoptError, match="PO0125"):
        run_program(compiled(func, *values), values)


def test_the_loop_does_not_run():
    agree(set_in_while, np.ones(3), 0)


def defaults(a, n):
    return max([n, 2], default=0), min([], default=n), max([x for x in a if x > 2], default=-1.0)


def default_of_a_range(a, n):
    return max([2 * q for q in range(n)], default=-7), min(a, default=0.5)


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("items", [[], [5.0, 1.0], [np.nan, 2.0]], ids=len)
@pytest.mark.parametrize("func", [defaults, default_of_a_range])
def test_default(func, items, n):
    agree(func, np.array(items), n)


def first_or_product(a):
    for x in a[1:]:
        return x
    return np.prod(a)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_returns_of_a_number_and_of_a_reduction(count):
    agree(first_or_product, np.arange(2.0, 2.0 + count))
