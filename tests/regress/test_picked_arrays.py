"""Arrays that a conditional expression picks: another name in Python, a copy here."""

# ruff: noqa: B007, RUF034 - programs as people write them
from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

A, B = np.arange(1.0, 5), -np.arange(1.0, 5)
P = np.array([1, 0])


def refused(function, *args):
    with pytest.raises(PolyoptError, match="PO0160"):
        compiled(function, *args)


def test_both_sides_are_one_array() -> None:
    def program(a, c, p):
        a = c if p[0] > 2 else c
        a[:] = a[::-1] * 2
        return a

    for p in (P, P + 5):
        args = (A.copy(), B.copy(), p)
        wanted = program(A.copy(), expected := B.copy(), p)
        found = run_program(compiled(program, *args), args)
        assert np.array_equal(found, wanted)
        assert np.array_equal(args[1], expected)


def test_writing_into_the_picked_one() -> None:
    def program(a, c, p):
        x = a if p[0] > 0 else c
        x[0] = 7.0

    refused(program, A, B, P)


def test_reading_it_after_a_write_into_a_side() -> None:
    def program(a, c, p):
        x = a if p[0] > 0 else c
        a[0] = 7.0
        return x[0]

    refused(program, A, B, P)


def test_reading_it_before_a_write_into_a_side() -> None:
    def program(a, c, p):
        a[0] = 3.0
        x = a if p[0] > 0 else c
        y = x * 2
        a[0] = 8.0
        return y

    agree(program, A, B, P)
    agree(program, A, B, P - 1)


def test_expressions_are_nobody_elses() -> None:
    def program(a, c, p):
        x = a * 2 if p[0] > 0 else c + 1
        x[0] = 7.0
        a[1] = 5.0
        return x

    agree(program, A, B, P)
    agree(program, A, B, P - 1)


def test_arrays_that_changed_places() -> None:
    def program(a, b, steps):
        x, y = a, b
        for s in range(steps):
            x[1:] = y[:-1]
            x, y = y, x
        a[0] = 5
        return x[0]

    refused(program, A, B, 3)
