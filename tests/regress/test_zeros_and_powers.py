"""Signs of zero where two are equal; powers and reciprocals of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FLOATS = ["float32", "float64"]


def bits(func: Callable[..., Any], *args: Any) -> None:
    """Compare with Python; of equal zeros the signs, too."""
    agree(func, *args)
    with np.errstate(all="ignore"):
        found, wanted = run_program(compiled(func, *args), args), func(*args)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(other))


@pytest.mark.parametrize("kind", FLOATS)
def test_clip_keeps_a_zero_that_equals_a_number(kind: str) -> None:
    def program(x, low, high, y):
        return (
            np.clip(x, low, high), np.clip(x, -0.0, 3), np.clip(x, 0.0, None),
            np.clip(x, None, -0.0), np.clip(x, y, high), np.clip(x, low, y),
        )  # fmt: skip

    x = np.array([0.0, -0.0, 1, np.nan, np.inf, -5, 9], kind)
    for low in (0.0, -0.0, np.nan, x[0], x[1]):
        bits(program, x, low, 3.0, -x)
        bits(program, -x, -4.0, low, x)


@pytest.mark.parametrize("kind", FLOATS)
def test_fmin_and_fmax_of_zeros(kind: str) -> None:
    def program(a, b, c):
        return np.fmin(a, b), np.fmax(a, b), np.fmin(b, a), np.fmax(b, c)

    zero = np.dtype(kind).type(0.0)
    bits(program, zero, -zero, zero)
    bits(program, -zero, zero, np.dtype(kind).type(np.nan))


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint64"])
def test_reciprocals_of_integers(kind: str) -> None:
    def program(x):
        return np.reciprocal(x)

    agree(program, np.array([1, 2, 3, 0, 100, -1, -2]).astype(kind))


def arrays(a, b):
    return a**b


def called(a, b):
    return np.power(a, b)


def in_place(a, b):
    a **= b


def elements(a, b):
    total = a[0]
    for i in range(a.shape[0]):
        total += a[i] ** b[i]
    return total


@pytest.mark.parametrize("kind", ["int8", "int64"])
@pytest.mark.parametrize("program", [arrays, called, in_place, elements])
def test_integers_have_no_negative_powers(program: Callable[..., Any], kind: str) -> None:
    a, b = np.array([2, 3, -4, 0], kind), np.array([1, 4, 2, 0], kind)
    agree(program, a.copy(), b)
    b[1] = -1
    with pytest.raises(PolyoptError) as caught:
        run_program(compiled(program, a, b), (a, b))
    assert caught.value.code == "PO0232"


@pytest.mark.parametrize("number", [np.int8(-1), np.int64(-1), -1])
def test_a_negative_number_as_exponent(number: Any) -> None:
    a = np.array([2, 3, 1], np.int16)
    agree(arrays, a, type(number)(2))
    with pytest.raises(PolyoptError) as caught:
        run_program(compiled(arrays, a, number), (a, number))
    assert caught.value.code in ("PO0232", "PO0147")


def test_bools_of_python_are_integers() -> None:
    def program(n: int, x):
        return ~(n > 2), abs(n > 2), -(n > 2), +(n > 2), x + abs(n > 2)

    agree(program, 3, np.arange(4))
    agree(program, 2, np.zeros(4))


def roots(a, x, y, n):
    """A power of Python's own numbers is complex where the base is negative."""
    for i in range(len(a)):
        a[i] += x**0.5 + (x - i) ** y
    return (
        (x * x + y * y) ** 0.5,
        abs(x) ** -0.5,
        np.float64(-x) ** 0.5,
        sum(i**0.5 for i in range(n)),
    )


@pytest.mark.parametrize(("x", "y"), [(4.0, 0.5), (4.0, -3.0), (2.0, 3.0)])
def test_real_powers_of_floats(x: float, y: float) -> None:
    agree(roots, np.ones(3), x, y, 4)


@pytest.mark.parametrize(("count", "x", "y"), [(3, -4.0, 2.0), (3, 1.0, 0.5), (1, -0.5, 0.5)])
def test_complex_powers_of_floats(count: int, x: float, y: float) -> None:
    args = (np.ones(count), x, y, 4)
    with pytest.raises(PolyoptError, match=r"PO0232.*complex"):
        run_program(compiled(roots, *args), args)


def root_of_positive(a, x):
    for i in range(len(a)):
        if x > 0.0:
            a[i] += x**0.5
        a[i] += x**1.5 if x > 0.0 else 1.0
    return a


@pytest.mark.parametrize("x", [-4.0, 4.0])
def test_guarded_powers_of_floats(x: float) -> None:
    agree(root_of_positive, np.ones(3), x)


@pytest.mark.parametrize("kind", FLOATS)
def test_the_power_one_half_of_numbers_and_of_arrays(kind: str) -> None:
    def program(x):
        y = x[0]
        return y**0.5, (y * y) ** 0.5, (y * y + 1) ** 0.5, x**0.5

    for first in (-np.inf, -0.0, 4.0, np.inf, np.nan):
        bits(program, np.array([first, 2.0], kind))
