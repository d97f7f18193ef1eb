"""Python's `min` and `max` compare one item after another; NumPy's take NaN for the result."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

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
