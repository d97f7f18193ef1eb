"""Names of arguments that are bound again on some paths: writes reach the array they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled


def in_a_branch(a, n):
    if a[0] > 3:
        a = a * 2
    a[0] = 5
    return a


def in_a_loop(a, n):
    for i in range(n):
        a[i] = 3
        a = a * 2
        a[0] += 1
    return a


def in_a_branch_of_a_loop(a, n):
    for i in range(n):
        if a[i] > 3:
            a = a + 1
        a[i] = a[i] - 1
    a += 5
    return a[0]


def in_a_while_loop(a, n):
    while a[0] < 8:
        a[0] += 2
        if a[1] > 3:
            a = a * 1.5
    return a


def twice(a, n):
    if a[0] > 3:
        a = a * 2
    if a[1] > 3:
        a = a + 1
    a[2] = 8
    return a


def of_sizes_and_data(a, n):
    if a[0] > 3:
        a = a * 2
    if n > 1:
        a[0] = 5
        if a[1] > 3:
            a = a + 1
        a[1] = 6
    a[2] = 8
    return a


def left_early(a, n):
    for i in range(n):
        if a[i] > 2:
            a[0] = 1
            continue
        a = a - 1
        if a[0] < -5:
            break
        a[1] = 9
    else:
        a[2] = 4
    return np.sum(a)


def to_itself(a, n):
    for _ in range(n):
        a = a
        a[0] += 1
        if a[0] > 6:
            a = a * 2
    return a


def through_a_view(a, n):
    for i in range(n):
        v = a[1:]
        v[0] = i
        if a[0] > 3:
            a = a * 2
    return a


def by_functions(a, n):
    if a[0] > 3:
        a = a * 2
    np.maximum(a, 2, out=a)
    np.put(a, [1], 5.0)
    a[2:].fill(n)
    return a[0]


def doubled_or_written(x, n):
    if x[0] > 3:
        x = x * 2
    x[1] = n
    return x[0]


def in_a_helper(a, n):
    total = doubled_or_written(a, n)
    return total + a[1]


PROGRAMS = [in_a_branch, in_a_loop, in_a_branch_of_a_loop, in_a_while_loop, twice,
            of_sizes_and_data, left_early, to_itself, through_a_view, by_functions,
            in_a_helper]  # fmt: skip
VALUES = [[5.0, 4.0, 3.0], [1.0, 4.0, 3.0], [1.0, 2.0, -0.0], [np.nan, 5.0, np.inf]]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("values", VALUES, ids=range(4))
@pytest.mark.parametrize("func", PROGRAMS)
def test_writes_reach_the_argument(func, values, n):
    agree(func, np.array(values), n)


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [in_a_loop, twice, in_a_helper])
def test_compiled(func):
    for values in VALUES:
        mine, theirs = np.array(values), np.array(values)
        assert np.array_equal(po.kernel(func)(mine, 2), func(theirs, 2), equal_nan=True)
        assert np.array_equal(mine, theirs, equal_nan=True)


def stale_alias(a, n):
    c = a
    if a[0] > 3:
        c = c * 2
    a[0] = 9
    return c[0]


def written_through_an_old_view(a, n):
    for _ in range(n):
        v = a[1:]
        a = a * 2
        v[0] = 7
    return a


def view_of_a_branch(a, n):
    total = 0.0
    for _ in range(n):
        v = a[1:]
        if a[0] > 3:
            a = a * 2
        total += v[0]
    return total


def iterated_meanwhile(a, n):
    for x in a:
        if x > 2:
            a = a + 1
        a[-1] = 7
    return a[0]


def another_name(a, n):
    b = np.ones(3)
    if a[0] > 3:
        a = b
    a[0] = 7
    return b[0] + a[0]


def old_name(a, n):
    c = a
    if a[0] > 3:
        a = a * 2
    a[0] = 5
    return c[0]


def returned_by_a_helper(x):
    if x[0] > 3:
        x = x * 2
    return x


def result_of_a_helper(a, n):
    c = returned_by_a_helper(a)
    a[0] = 9
    return c[0]


@pytest.mark.parametrize(
    "func",
    [stale_alias, written_through_an_old_view, view_of_a_branch, iterated_meanwhile, another_name,
     old_name, result_of_a_helper],
)  # fmt: skip
def test_arrays_with_two_names_are_refused(func):
    with pytest.raises(PolyoptError, match="PO0160"):
        compiled(func, np.ones(3), 2)


def copied_in_the_other_branch(a, b):
    for i in range(2):
        if i > 0:
            pass
        else:
            a = b.copy()
    return a


def made_in_the_other_branch(a, b):
    for i in range(2):
        if i:
            a[0] = 9.0
        else:
            a = b + 1.0
    return a


@pytest.mark.parametrize("func", [copied_in_the_other_branch, made_in_the_other_branch])
def test_arrays_bound_in_the_else_of_a_loop(func):
    agree(func, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
