"""Names that a loop binds and the program reads after it, under conditions."""

# ruff: noqa: B007 - the loop variables are what is tested
from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

ROWS = ([1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 200.0, 0.0], [-1.0, 200.0, 3.0, 4.0])


def same(function, *args):
    """Compare with Python; where this has no value, a coded error has to come."""
    try:
        wanted = function(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    except UnboundLocalError:
        with pytest.raises(PolyoptError, match=r"PO0125|PO0175"):
            run_program(compiled(function, *args), args)
        return
    assert run_program(compiled(function, *args), args) == wanted


def in_one_branch(a, n):
    if a[0] > 0:
        pass
    else:
        for i in range(n):
            a[i] += 1
    return i


def never_run(a, n):
    if len(a):
        pass
    else:
        for i in range(0, 0, 2):
            pass
    return i


def under_a_condition_on_sizes(a, n):
    if n:
        for i in range(n):
            pass
    return i


def under_a_condition_in_a_loop(a, n):
    for j in range(2):
        if a[j] > 100:
            for i in range(n):
                pass
    return i


def bound_before(a, n):
    i = 7
    if a[0] > 0:
        for i in range(n):
            pass
    return i


def bound_by_an_inner_loop(a, n):
    for i in range(n):
        if a[i] > 1:
            for i in range(2):
                pass
        a[0] += 1
    return i


def changed_in_the_body(a, n):
    for i in range(n):
        i = i * 2
    return i


def changed_on_one_path(a, n):
    for i in range(n):
        if a[i] > 1:
            i += 5
    return i


def changed_before_break(a, n):
    for i in range(n):
        if a[i] > 1:
            i = 9
            break
    return i


@pytest.mark.parametrize("n", [0, 2, 4])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    "function",
    [
        in_one_branch,
        never_run,
        under_a_condition_on_sizes,
        under_a_condition_in_a_loop,
        bound_before,
        bound_by_an_inner_loop,
        changed_in_the_body,
        changed_on_one_path,
        changed_before_break,
    ],
)
def test_variable_after_its_loop(function, row, n) -> None:
    same(function, np.array(row), n)


def test_items_of_an_array_under_a_condition() -> None:
    def program(a):
        x = 0.5
        if a[0] > 0:
            for x in a:
                pass
        return x

    agree(program, np.array([1.0, 2.0, 3.0]))
    agree(program, np.array([-1.0, 2.0, 3.0]))


def test_variable_that_becomes_something_else() -> None:
    def program(a):
        for i in range(3):
            i = a[i]
        return i

    with pytest.raises(PolyoptError, match="PO0136"):
        compiled(program, np.ones(3))


def test_array_in_a_loop_and_number_after_it() -> None:
    def program(a, c, n):
        for i in range(3):
            if a[i]:
                return c
        return n

    with pytest.raises(PolyoptError, match="PO0164"):
        compiled(program, np.ones(3), np.ones(2), 1.5)


def test_loops_that_run_are_as_before() -> None:
    def program(a, n):
        for i in range(n):
            a[i] += i
        return i

    agree(program, np.ones(4), 3)


def test_loop_variable_that_was_an_argument_read_before() -> None:
    def program(a, i):
        head, size = a[:i], i + 1
        total = 0.0
        for i, v in enumerate(a):
            total += i * v
        for i in range(i, -1, -1):  # noqa: B020  the argument is the first bound
            total -= i
        return head, size, total, np.arange(size)

    agree(program, np.array([1.0, 2.0, 3.0]), 2)


def test_names_that_functions_own_are_none_of_the_loop() -> None:
    def program(a):
        def weighted(i, k=1):
            def shifted(x):
                return x * a[i] + k

            s = shifted(2.0)
            for x in a:
                s += x
            return s

        total = 0.0
        for i in range(len(a)):
            total += weighted(i)
        for s in range(len(a)):
            total += s
        for x in a:
            total += x
        k = len(a)
        return total + sum([(lambda i: i + k)(v) for v in a])

    agree(program, np.array([1.0, 2.0, 3.0]))
    agree(program, np.zeros(0))
