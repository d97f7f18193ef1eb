"""Names that loops and branches bind to arrays that have other names: writes reach both."""

# ruff: noqa: B007, SIM108 - programs as people write them
from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled

A, C = np.arange(4.0) + 2, np.arange(4.0) * 3
X = np.arange(12.0).reshape(4, 3) + 1


def view_of_an_argument(a, x, n):
    for j in range(n):
        a = x[:, 0]
    x *= x
    return a.max()


def of_either_array(a, c, n):
    if a[0] > 1:
        d = a
    else:
        d = c
    c += 10
    return d.max()


def writing_either_array(a, c, n):
    if a[0] > 1:
        d = a
    else:
        d = c
    d += 10
    return c.max()


def writing_it_in_a_loop(a, c, n):
    a = np.zeros(4)
    for i in range(n):
        a = c
        a[0] += 1
    return a


def read_in_the_next_iteration(a, c, n):
    s = 0.0
    for i in range(n):
        s += a[0]
        a = c
        c[0] += 1
    return s


def returned(a, c, n):
    for i in range(n):
        a = c
    c[0] += 90
    return a


def read_by_a_library(a, c, n):
    for i in range(n):
        a = c
    c[0] = 100
    return np.linalg.norm(a)


def name_of_a_name(a, c, n):
    for i in range(n):
        a = c
    d = np.zeros(4)
    for i in range(n):
        d = a
    c[0] = 100
    return d[0]


def first_below(a, c, n):
    for i in range(n):
        a[0] *= 0.5
        if a[0] < 0.3:
            return a
    return c


def of_a_called_function(a, c, n):
    y = first_below(a, c, n)
    a[0] += 1
    return y[0]


def rows_written_too_early(a, x, n):
    out = np.zeros((n, 3))
    before = np.zeros(3)
    for t in range(n):
        out[t - 1 if t > 0 else 0] = 1
        out[t] += before
        before = out[t]
    return before


REFUSED = (
    (view_of_an_argument, A, X, 2),
    (of_either_array, A, C, 2),
    (writing_either_array, A, C, 2),
    (writing_it_in_a_loop, A, C, 2),
    (read_in_the_next_iteration, A, C, 3),
    (returned, A, C, 2),
    (read_by_a_library, A, C, 2),
    (name_of_a_name, A, C, 2),
    (of_a_called_function, A, C, 2),
    (rows_written_too_early, A, X, 4),
)


@pytest.mark.parametrize("program, args", [(p, args) for p, *args in REFUSED])
def test_told_apart(program, args) -> None:
    with pytest.raises(PolyoptError, match="PO0160"):
        compiled(program, *args)


def new_array_in_each_iteration(a, c, n):
    for i in range(n):
        b = a.copy()
        b[1:-1] = a[:-2] + a[2:]
        a = b
    return a


def empty_array_in_each_iteration(a, c, n):
    for i in range(n):
        b = np.empty(4)
        b[0] = a[1]
        b[1:] = a[:-1] + i
        a = b
    return a


def row_of_the_step_before(a, x, n):
    out = np.zeros((n, 3))
    before = np.zeros(3)
    for t in range(n):
        out[t, 0] = 1
        out[t] += before
        before = out[t]
    return before


def bound_again_before_it_is_read(a, c, n):
    s = 0.0
    for i in range(n):
        a = c
        s += a[0]
        c[0] += 1
    a = c * 2
    return s + a[0]


def nothing_is_written(a, c, n):
    for i in range(n):
        a = c
    return a + c


def left_early(a, c, n):
    return first_below(a, c, n)


ACCEPTED = (
    (new_array_in_each_iteration, A, C, 3),
    (empty_array_in_each_iteration, A, C, 3),
    (row_of_the_step_before, A, X, 4),
    (bound_again_before_it_is_read, A, C, 3),
    (nothing_is_written, A, C, 3),
    (left_early, A, C, 5),
    (left_early, A, C, 1),
)


@pytest.mark.parametrize("program, args", [(p, args) for p, *args in ACCEPTED])
def test_not_told_apart(program, args) -> None:
    agree(program, *args)
