"""Sums and extrema of lists of NumPy's numbers are NumPy's, with their type."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.ir.interp import run_program
from polyopt.specialize import Parameters, types_of


def largest(b, c):
    return b + max([c[q] for q in range(len(c))])


def smallest(b, c):
    return b + min(c[q] for q in range(len(c)))


def total(b, c):
    return b + sum([c[q] for q in range(len(c))])


def total_of_python(b, c):
    return b + sum([float(c[q]) for q in range(len(c))])


def largest_of_python(b, c):
    return b + max([float(c[q]) for q in range(len(c))])


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [largest, smallest, total, total_of_python, largest_of_python])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
def test_type_and_value(function, dtype):
    b, c = np.array([1.75, 2.5], np.float32), np.array([3, 1.5, 7]).astype(dtype)
    got, want = po.kernel(function)(b, c), function(b, c)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def of_grown(a):
    items = []
    for i in range(len(a)):
        items.append(~i)
    return np.sum(np.array(items))


def of_filtered(a):
    return np.array([i for i in range(len(a)) if a[i] > 0])


def replaced(a, n, i):
    items = [n, a[-1]]
    items[i] = a[0]
    return sorted(items)[0] * n


def root_of_either(a, x):
    for i in range(len(a)):
        if i == 1:
            x += np.trunc(x)
        else:
            x += x**0.5
    return x


def refusal(function, *args) -> str:
    try:
        run_program(build(function, types_of(Parameters.of(function), args, frozenset())), args)
    except PolyoptError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("function", [of_grown, of_filtered])
def test_arrays_of_empty_lists_have_another_type(function) -> None:
    assert "PO0173" in refusal(function, np.ones(0))
    assert refusal(function, np.ones(3)) == ""


def test_lists_of_several_integer_types_are_refused() -> None:
    assert "PO0161" in refusal(replaced, np.array([6, 3]), np.uint8(2), 0)


def test_roots_of_what_may_be_a_number_of_python() -> None:
    assert "PO0232" in refusal(root_of_either, np.ones(1), -2.0)
    assert refusal(root_of_either, np.ones(3), 2.0) == ""
    assert refusal(root_of_either, np.ones(1), np.float64(-2.0)) == ""
