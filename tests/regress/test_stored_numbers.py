"""Numbers put into arrays of integers: what does not fit is refused where NumPy refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
NUMBERS = (
    0.5, 300.0, float("nan"), 1e30, -1.5, -2147483648.5,
    np.float64("nan"), np.float64(1e30), np.float64(-2147483649.0), np.float64(2147483647.5),
    np.float64(127.9), np.float32(128), np.float64(2.0**63), np.float64(-(2.0**63)),
    np.int64(2**40), np.int64(127), np.int16(-129), np.uint64(2**63 + 5), np.float32("inf"),
)  # fmt: skip


def element(a, x):
    a[1] = x


def whole_slice(a, x):
    a[:] = x


def under_a_mask(a, x):
    a[a > 1] = x


def by_subscripts(a, x):
    a[[0, 2]] = x


def updated(a, x):
    a[1] = a[1] + x


def ended(function: Callable[..., Any], args: tuple[Any, ...]) -> str | None:
    """Return the array as text, None for an error."""
    try:
        function(*args)
    except (ValueError, OverflowError, PolyoptError):
        return None
    return repr(args[0])


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("function", [element, whole_slice, under_a_mask, by_subscripts, updated])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_number_into_array(function, kind, number) -> None:
    with np.errstate(all="ignore"):
        wanted = ended(function, (np.arange(3, dtype=kind), number))
    is_unsigned_float = kind.startswith("u") and isinstance(number, np.floating)
    if wanted is not None and is_unsigned_float and not 0 <= number < np.iinfo(kind).max:
        return  # C leaves these conversions open, and NumPy with it

    def run(array: Any, value: Any) -> None:
        run_program(compiled(function, array, value), (array, value))

    assert ended(run, (np.arange(3, dtype=kind), number)) == wanted


def test_sums_into_narrow_elements() -> None:
    def program(a, c):
        c[0] = np.sum(a)
        c[1] = a[0] - a[1]

    def run(numbers: Any, narrow: Any) -> None:
        run_program(compiled(program, numbers, narrow), (numbers, narrow))

    narrow = np.zeros(2, np.int32)
    with pytest.raises(PolyoptError, match="PO0234"):
        run(np.array([2**31 - 1, 2**31 - 1], np.int32), narrow)
    run(np.array([4, 3], np.int32), narrow)
    assert list(narrow) == [7, 1]


def masked(a, n):
    a[a != 1] = n
    return a


def filled(a, n):
    a.fill(n)
    return a


def new(a, n):
    return np.full(2, n, dtype=np.uint8), np.full_like(a, n)


@pytest.mark.parametrize("function", [masked, filled, new])
@pytest.mark.parametrize("count", [0, 2])
def test_numbers_that_no_element_holds(function, count):
    """NumPy converts the number even where there is no element to store it into."""
    args = np.zeros(count, np.uint8), -2
    with pytest.raises(OverflowError):
        function(*args)
    with pytest.raises(PolyoptError, match="PO0176"):
        run_program(compiled(function, *args), args)
    agree(function, np.zeros(count, np.uint8), 7)


def sum_into_a_slice(a, x):
    a[:0] = np.dot(x, x)
    return a


def test_reductions_that_no_element_holds():
    args = np.zeros(2, np.int64), np.array([np.inf])
    with pytest.raises(OverflowError):
        sum_into_a_slice(*args)
    with pytest.raises(PolyoptError, match="PO0234"):
        run_program(compiled(sum_into_a_slice, *args), args)


def place_that_data_say(a, b):
    b[b[0]] -= np.argmax(a)
    return b


def test_an_element_outside_is_not_read_for_a_check():
    agree(place_that_data_say, np.ones(3), np.array([-2, 4, 5], np.int32))
    args = np.ones(1), np.array([-2], np.int32)
    with pytest.raises(PolyoptError, match="PO0231"):
        run_program(compiled(place_that_data_say, *args), args)
