"""Lists of as many items as data say: their memory is there before the loop that fills them."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import FrontendError
from tests.unit.frontend.harness import agree, compiled

A, B = np.arange(1.0, 9.0), np.array([5, 3, 3])


def squares(a, b):
    return sum(q * q for q in range(b[0]))


def items_of_a_list(a, b):
    items = [q * b[0] for q in range(b[0])]
    return items[0] + items[1] + items[2]


def appended(a, b):
    items = []
    for q in range(b[0]):
        items.append(q * q)
    return sum(items) + items[1]


def appended_rows(a, b):
    items = []
    n = b[0]
    for q in range(n):
        items.append(a[:2] * q)
    m = np.array(items)
    return m.sum(), m[1, 1], m[0].sum()


def made_in_a_loop(a, b):
    total = 0.0
    for q in range(b[1]):
        items = [a[k] * q for k in range(b[q])]
        total += sum(items) + items[-1]
    return total


def made_in_a_while_loop(a, b):
    k = 0
    while k < b[2]:
        items = [q * k * a[q] for q in range(b[0] - k)]
        a[k] = sum(items) + max(items)
        k += 1
    return a


def made_under_a_condition(a, b):
    if a[0] > 0.5:
        items = [q * q for q in range(b[0])]
        a[0] = sum(items) + items[1]
    return a


def nested(a, b):
    return sum([sum([a[k] * b[q] for k in range(b[q])]) for q in range(b[1])])


@pytest.mark.parametrize("function", [squares, items_of_a_list, appended, appended_rows,
                                      made_in_a_loop, made_in_a_while_loop,
                                      made_under_a_condition, nested])  # fmt: skip
def test_as_many_as_data_say(function) -> None:
    agree(function, A.copy(), B)


def rows_of_slices(a, b):
    items = [a[:q] for q in range(4)]
    total = 0.0
    for i in range(4):
        total += items[3].sum() + i
    return total


def rows_of_a_length_each(a, n):
    items = [a[:q] for q in range(n)]
    total = 0.0
    for i in range(n):
        total += items[n - 1].sum() + i
    return total


def lists_of_a_length_each(a, n):
    items = [[a[k] for k in range(q)] for q in range(n)]
    return len(items[0]), len(items[1])


def rows_of_lengths_that_data_say(a, n):
    items = [a[: int(a[q])] for q in range(n)]
    return items[1].sum()


@pytest.mark.parametrize("function", [rows_of_a_length_each, lists_of_a_length_each,
                                      rows_of_lengths_that_data_say])  # fmt: skip
def test_rows_of_several_lengths(function) -> None:
    with pytest.raises(FrontendError, match="PO0152"):
        compiled(function, A, 4)


def test_rows_of_a_known_number() -> None:
    agree(rows_of_slices, A, B)
