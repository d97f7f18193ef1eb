"""Python's `min` and `max` compare one item after another; NumPy's take NaN for the result."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.regress.test_zeros_and_powers import bits

NAN = float("nan")


def of_an_array(a):
    return min(a), max(a)


def of_a_list(a):
    items = []
    for i in range(3):
        items.append(a[i])
    return min(items), max(items)


def of_a_comprehension(a):
    return min([a[q] for q in range(len(a))]), max([a[q] for q in range(len(a))])


def of_a_generator(a):
    return min(x for x in a), max(x * 2.0 for x in a)


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
@pytest.mark.parametrize("function", [of_an_array, of_a_list, of_a_comprehension, of_a_generator])
def test_order_of_items(function, kind) -> None:
    values = (0, 1, 2) if kind == "int64" else (0.0, -0.0, 1.0, NAN)
    for row in itertools.product(values, repeat=3):
        bits(function, np.array(row, kind))


def beside_a_narrow_integer(c, a):
    return max(c[0], 1) - a[1]


def beside_a_wide_integer(c, a):
    return max(c[0], 1) - c[1], min(2, c[1]) * 3


@pytest.mark.toolchain
def test_an_extremum_of_two_kinds_of_integers_has_either_type() -> None:
    wide, narrow = np.array([-2, 9]), np.array([1, 9], np.uint16)
    with pytest.raises(PolyoptError, match="PO0161"):  # uint16 where Python's 1 is taken
        po.kernel(beside_a_narrow_integer)(wide, narrow)
    for values in (wide, -wide):
        bits(beside_a_wide_integer, values, narrow)
