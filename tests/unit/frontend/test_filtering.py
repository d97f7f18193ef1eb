"""Comprehensions with conditions, or over several ranges: lists that the running kernel makes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled


def odd(a, n):
    return sum([q - 1 for q in range(n) if q % 2]), sum(q for q in range(n) if q % 3)


def large(a, n):
    found = [x for x in a if x > 2.0]
    total = 0.0
    for x in found:
        total += x
    return total, len(found), np.array(found)


def triangle(a, n):
    return sum([i * j for i in range(n) for j in range(i) if (i + j) % 2])


def beside_a_tuple(a, n):
    return sum([x * t for x in a for t in (1, 2)]), sum([x * t for t in (1, 2) for x in a])


def of_known_items(a, n):
    return sum([q for q in (n, 1, 2) if q > 1])


def truth(a, n):
    found = [x > 2 for x in a if x > 1]
    return any(found), all(x > 2 for x in a if x > 1)


def roots(a, n):
    return sum([math.sqrt(x) for x in a if x >= 0])


def in_a_branch(a, n):
    return sum([q - 1 for q in range(n) if q % 2]) if n > 2 else -1


def in_loops(a, n):
    total = 0
    for i in range(n):
        total += sum([q for q in range(i) if q % 3])
        a[0] += 1
    while total < n:
        total += 1 + len([q for q in range(n) if a[q % len(a)] > 4])
    return total


def room_for_each_turn(a, n):
    total = 0
    for t in (1, 3):
        total += sum([q for q in range(n * t) if a[0] > 0])
    return total


PROGRAMS = [odd, large, triangle, beside_a_tuple, of_known_items, truth, roots, in_a_branch,
            in_loops, room_for_each_turn]  # fmt: skip
ARRAYS = [[1.0], [3.0, -1.0, 2.5], [np.nan, 5.0, np.inf, -0.0, 4.0, 1.0]]


@pytest.mark.parametrize("n", [0, 1, 3, 8])
@pytest.mark.parametrize("items", ARRAYS, ids=len)
@pytest.mark.parametrize("func", PROGRAMS)
def test_python_finds_the_same_items(func, items, n):
    if func is roots:
        items = [x for x in items if x < np.inf]
    agree(func, np.array(items), n)


def lists_in_a_loop(a, n):
    total = 0
    for t in (1, 3):
        items = []
        for q in range(n * t):
            if a[0] > 0:
                items.append(q)
        total += sum(items)
    return total


def test_a_list_has_room_in_every_turn_of_a_loop_over_a_tuple():
    agree(lists_in_a_loop, np.ones(1), 5)


def rows(a, n):
    return [a * q for q in range(n) if q % 2]


def test_items_are_numbers():
    with pytest.raises(PolyoptError, match="PO0152"):
        compiled(rows, np.ones(3), 4)
