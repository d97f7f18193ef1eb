"""Loops over reversed arrays and lists, and loops over tuples that are left early."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.frontend.harness import agree


def backwards(a, n):
    total = 0.0
    for x in reversed(a):
        total = total * 2 + x
    return total


def rows_backwards(a, n):
    total = 0.0
    for row in reversed(a.reshape(-1, 1)):
        for x in reversed(row):
            total = total * 2 + x
    return total


def steps_backwards(a, n):
    total = 0
    for i in reversed(range(1, n, 3)):
        total = total * 2 + i
    for i in reversed(range(n, -5, -2)):
        total = total * 3 + i
    return total


def written_meanwhile(a, n):
    k = 0
    for x in reversed(a):
        a[-k] = x + 1
        k = k + 1


def list_backwards(a, n):
    total = 0
    for x in reversed([i * i for i in range(n)]):
        total = 2 * total + x
    return total


def left_early(a, n):
    total, t = 0.0, 0
    for t in (1, 2, 4):
        total += t * n
        if total > a[0]:
            break
    else:
        total = -1.0
    return total, t


def returned_from(a, n):
    for t in [3, -1]:
        for i in range(len(a)):
            if a[i] > t:
                break
            a[i] += t
        if a[0] > n:
            return t
    return 0


def left_by_flags(a, n):
    found = 0
    for low, high in ((0, 2), (2, 5), (5, 9)):
        if a[0] < low:
            continue
        if a[0] < high:
            found = low
            break
        for t in (1, 2):
            if a[-1] > t + low:
                break
            found += t
    return found


def array_returned_from(a, n):
    for t in (1, 2.5):
        if t > a[0]:
            return a - 0.25
    a[0] = n
    return a


PROGRAMS = [array_returned_from, backwards, rows_backwards, steps_backwards,
            written_meanwhile, list_backwards,
            left_early, returned_from, left_by_flags]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 3, 7])
@pytest.mark.parametrize("items", [[2.0], [1.0, 4.0, -2.0], [np.nan, 3.0], [6.0, -0.0, 8.0, 3.5]])
@pytest.mark.parametrize("func", PROGRAMS)
def test_equal_to_python(func, items, n):
    agree(func, np.array(items), n)


def methods_of_constants(a):
    return (1 + 2j).conjugate() * a[0], (5).bit_length() + (2.5).is_integer()


def test_methods_of_numbers_that_are_known():
    agree(methods_of_constants, np.array([3.0, -1.0]))
