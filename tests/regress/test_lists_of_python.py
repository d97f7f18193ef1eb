"""Items of lists are Python's own numbers, which do not widen arrays of a narrower type."""

# ruff: noqa: B007, C416 - programs as people write them
from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

A = np.array([1.0, 2.0, 3.0], np.float32)


def test_appended_floats() -> None:
    def program(a):
        m = []
        for i in range(3):
            m.append(0.1)
        return a * max(m), a * m[0], a * sum(m), a * min(m)

    agree(program, A)


def test_replaced_floats() -> None:
    def program(a):
        m = [0.1, 0.2]
        m[0] = 0.3
        many = [0.1] * 3
        many[0] = 0.3
        return a * m[0], a * max(m), a * m[1], a * many[0], a * many[1]

    agree(program, A)


def test_integers_that_become_floats() -> None:
    def program(a):
        m = [1, 2]
        m[0] = 0.5
        return a * m[0], a * m[1]

    agree(program, A)


def test_numbers_of_numpy_in_a_list_widen() -> None:
    def program(a):
        m = [0.1, 0.2]
        m[0] = np.float64(0.3) + a[0]
        return a * m[0]

    agree(program, A)


def test_conditions_count_as_integers() -> None:
    def program(a):
        m = [False] * 3
        m[1] = True
        return m[1] + m[1], a * m[1]

    agree(program, A)


def test_largest_integer_of_a_list() -> None:
    def program(a):
        m = []
        for i in range(3):
            m.append(5)
        return np.float32(2) * max(m), a * min(m)

    agree(program, A)


def test_sums_of_integers_stay_exact() -> None:
    def program(a, k):
        m = [2**61] * 4
        m[1] = k
        return sum(m)

    agree(program, A, 5)
    with pytest.raises(PolyoptError, match="PO0234"):
        run_program(compiled(program, A, 2**62), (A, 2**62))


def test_arrays_that_change_their_type() -> None:
    def program(a, x):
        a = np.roll(a, 1)
        for i in range(2):
            a = np.ones(3, int)
            a[0] = x
        return a

    with pytest.raises(PolyoptError, match="PO0161"):
        compiled(program, np.ones(3), 4.1)


def test_names_of_comprehensions_are_their_own() -> None:
    def program(a):
        q = 1.5
        for i in range(3):
            y = [q * 2 for q in range(4)]
            q += y[1]
        for i in range(1):
            for j in range(1, 0):
                v = [k for k in range(4)]
                q += v[1]
        return q

    agree(program, A)
