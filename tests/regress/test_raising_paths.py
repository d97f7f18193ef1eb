"""Statements for which Python always raises: refused, unless there is a path past them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polyopt.errors import FrontendError, PolyoptError
from polyopt.frontend.values.codes import RaisingError
from polyopt.ir.interp import run_program
from polyopt.ir.program import Repeat
from tests.unit.frontend.harness import agree, compiled


def by_a_size(a, n):
    if n > 2:
        a += 0.5
    return np.sum(a)


def by_an_element(a, n):
    if a[0] > 3:
        a += 0.5
    return np.sum(a)


def into_out(a, n):
    if a[0] > 3:
        np.maximum(a, 0.5, out=a)
    return a[0]


def in_a_loop(a, n):
    for i in range(n):
        if i > 1:
            a += 0.5
    return a


def subscript_in_a_branch(a, n):
    x = n / 2
    v = 3
    if a[0] > 3:
        v = a[x]
    return v


def bits_of_floats(a, n):
    v = 2
    if a[0] > 3:
        v = (a[0] / 2) | 1
    return v


def length_of_a_number(a, n):
    x = a[0] / 4
    for i in range(2):
        if a[i] > 3:
            a[i] = len(x)
            break
    return a


def unlike_arrays(a, n):
    if a[0] > 3:
        b = a * 2
        b += 0.5
        return b
    return a


def in_a_helper(a, n):
    return by_an_element(a, n) + n if n > 0 else a[0]


def in_a_while_loop(a, n):
    k = 0.5
    while k < n:
        if a[0] > 3:
            a[0] = a[k]
        k += 1
    return a


PROGRAMS = [by_a_size, by_an_element, into_out, in_a_loop, in_a_while_loop, subscript_in_a_branch,
            bits_of_floats, length_of_a_number, unlike_arrays, in_a_helper]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("first", [5, 1])
@pytest.mark.parametrize("func", PROGRAMS)
def test_raises_where_python_does(func, first, n):
    values = np.array([first, 2, 3]), n
    try:
        func(values[0].copy(), n)
    except (TypeError, IndexError, UnboundLocalError):
        with pytest.raises(PolyoptError):
            run_program(compiled(func, *values), values)
    else:
        agree(func, *values)


def everywhere(a, n):
    a += 0.5
    return a[0]


def in_every_turn(a, n):
    for _ in range(n):
        a += 0.5
    return a[0]


def without_end(a, n):
    while a[0] < n:
        a += 0.5
    return a[0]


@pytest.mark.parametrize("func", [everywhere, in_every_turn, without_end])
def test_refused_where_nothing_leads_past(func):
    with pytest.raises(RaisingError, match="PO0144"):
        compiled(func, np.ones(3, int), 2)


def test_loops_in_a_branch_end():
    """A loop that is read up to what raises in it has no end of its own."""

    def program(a, c, n):
        k = 0
        if a[0] > 3:
            while k < n:
                c[k % 2] = 1.0
                a += 0.5
                k += 1
        return k

    agree(program, np.array([1, 2]), np.zeros(2), 3)
    args = (np.array([5, 2]), np.zeros(2), 3)
    made = compiled(program, *args)
    assert not any(isinstance(part, Repeat) for part in made.parts)
    with pytest.raises(PolyoptError, match="PO0144"):
        run_program(made, args)
    assert list(args[0]) == [5, 2]


def rounds(a, x):
    for k in range(a.shape[0]):
        x = x + a[k]
    return round(x)


def rounds_to_digits(a, x):
    return round(a[0], 1)


@pytest.mark.parametrize("func", [rounds, rounds_to_digits])
def test_complex_numbers_are_not_rounded(func):
    with pytest.raises(RaisingError, match="PO0146"):
        compiled(func, np.ones(2, complex), 1.5)


@pytest.mark.parametrize("func", [math.floor, math.trunc, math.sqrt, math.isnan, int, float])
def test_no_function_drops_an_imaginary_part(func):
    def program(z):
        return func(z)

    with pytest.raises(RaisingError, match="PO0144"):
        compiled(program, 1.5 + 1j)
    with pytest.raises(FrontendError, match="PO0144"):
        compiled(program, np.complex128(1.5 + 1j))


def test_arrays_are_not_rounded_by_python():
    def program(a):
        return round(a)

    with pytest.raises(PolyoptError, match="PO0142"):
        compiled(program, np.ones(2))


def swapped(a, n, x):
    if a[0] == 1:
        x, n = n, x
    elif x <= 0.5:
        return 2.0
    s = a[n % 2]
    return x + s


@pytest.mark.parametrize("x", [3.0, 0.25])
def test_what_raises_after_one_branch_does_not_after_the_other(x):
    agree(swapped, np.array([0, 7]), 1, x)
    with pytest.raises(PolyoptError, match="PO0135"):
        run_program(compiled(swapped, np.array([1, 7]), 1, x), (np.array([1, 7]), 1, x))


def test_a_helper_that_raises_in_one_call_does_not_in_another():
    def picked(a, n, c):
        s = a[0] * 2
        if c > 0:
            s = a[n % 2]
        return s

    def program(a, b):
        return picked(a, 1.5, b[0]) + picked(a, 1, b[1])

    agree(program, np.array([3, 5]), np.array([0, 1]))
