"""Items of loops: what they are in the body, and after the loop."""

# ruff: noqa: B007 - the loop variables are what is tested
from __future__ import annotations

import numpy as np
import pytest

from tests.unit.frontend.harness import agree


def item_after(a):
    for x in a:
        pass
    return x


def count_and_item_after_a_break(a):
    for i, x in enumerate(a):
        if x > 4:
            break
    return i, x


def item_of_what_is_written(a):
    for x in reversed(a):
        a[0] = x * 2
        a[1] = 7
    a[:] = 0
    return x + a[0]


def items_of_two(a):
    x = 3
    for x, y in zip(a, a[2:], strict=False):
        x += 1
    return x


def in_a_loop(a):
    total = 0.0
    for _ in range(3):
        for x in a[1:]:
            total += x
        total += x
    return total, x


def names_made_from_a_count(a):
    for i in range(1, len(a), 2):
        k = i * 2
        m = k - 1
    return k, m


def names_made_from_counts(a):
    for i in range(len(a)):
        for j in range(i + 1):
            k = i * j
        if a[i] > 3:
            break
    return k + j


def names_where_arrays_change_places(a):
    b = a * 2
    for i in range(len(a)):
        a, b = b, a
        k = a[0] * i
        m = i
    return k, m


def arrays_where_arrays_change_places(a):
    b = a * 2
    for i in range(len(a)):
        a, b = b, a
        t = a + i
    return t


def arrays_of_a_list(a):
    for q in [a, a + 1]:
        q[0] += 1
    return q


def numbers_of_a_tuple(a):
    for x in (a[0], a[1] * 2, a[2]):
        a[2] += x
        a[1] += 3
    return a


def computed_items(a):
    for x in a + 1:
        a[0] += x
        a[3] = 2
    return x


def counted_items(a):
    for i, x in enumerate(a * 2):
        a[:] += x
    return i


@pytest.mark.parametrize("function", [
    item_after, count_and_item_after_a_break, item_of_what_is_written, items_of_two, in_a_loop,
    names_made_from_a_count, names_made_from_counts, names_where_arrays_change_places,
    arrays_where_arrays_change_places, arrays_of_a_list, numbers_of_a_tuple, computed_items,
    counted_items,
])  # fmt: skip
@pytest.mark.parametrize("count", [5, 6])
def test_items(function, count) -> None:
    agree(function, np.arange(1.0, count + 1))
