"""NumPy-style programs that random testing found: each had a wrong result or a needless refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

VECTOR = np.array([1.0, 0.0, -2.0, 3.0])
BYTES = np.array([1, 50, 200], np.uint8)


def and_of_elements(A):
    for i in range(len(A)):
        A[i] = A[i] and A[-1]


def or_of_elements(A):
    for i in range(len(A)):
        A[i] = A[i] or 5.0


def chain_of_both(A):
    return (A[0] and A[1] and A[2]) or -1.0


def condition_and_element(A):
    return A[0] > 0 and A[1]


def default_by_or(A, scale=None):
    factor = scale or 2.0
    return A * factor


@pytest.mark.parametrize(
    "func", [and_of_elements, or_of_elements, chain_of_both, condition_and_element]
)
def test_and_or_give_operands(func: Callable[..., Any]) -> None:
    agree(func, VECTOR)


@pytest.mark.parametrize("scale", [None, 3.0, 0.0])
def test_or_gives_the_default(scale: float | None) -> None:
    agree(default_by_or, VECTOR, scale)


def conditions_on_integers(A, n, m):
    s = 0.0
    if n and m:
        s = 1.0
    if not (n or m):
        s += 4
    for i in range(len(A)):
        if i and A[i - 1] > 0 and n:
            A[i] = 7
    return s, n or m


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 2), (3, 0), (3, 2)])
def test_conditions_of_integers(n: int, m: int) -> None:
    agree(conditions_on_integers, VECTOR, n, m)


def below(A, n):
    return A < n  # noqa: SIM300


def plus(A, n):
    return A + n


def fill(A, n):
    A[:] = n


def set_first(A, n):
    A[0] = n


def clipped(A):
    return np.clip(A, -50, 300), A >= -1, A == 300


@pytest.mark.parametrize("n", [-1, 3, 200, 300])
def test_narrow_integers_compare_by_value(n: int) -> None:
    agree(below, BYTES, n)


@pytest.mark.parametrize("func", [plus, fill, set_first])
def test_integers_that_do_not_fit_are_refused(func: Callable[..., Any]) -> None:
    agree(func, BYTES, 3)
    with pytest.raises(OverflowError):
        func(BYTES.copy(), 300)
    with pytest.raises(PolyoptError, match="PO0176"):
        agree_or_raise(func, BYTES, 300)


def agree_or_raise(func: Callable[..., Any], *args: Any) -> None:
    """Run in the interpreter only, so that its error is seen."""
    from polyopt.ir.interp import run_program

    run_program(compiled(func, *args), tuple(np.copy(a) if np.ndim(a) else a for a in args))


def test_bounds_beyond_the_type_change_nothing() -> None:
    agree(clipped, BYTES)


def rolled(A):
    return np.roll(A, 1), np.roll(A, -2), np.roll(A, 3)


@pytest.mark.parametrize("size", range(6))
def test_rolling_short_arrays(size: int) -> None:
    agree(rolled, np.arange(float(size)))


def weighted(A):
    weights = (0.25, 0.5, 1)
    for i in range(3):
        A[i] = A[i] * weights[i] + weights[-1 - i]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tuples_of_numbers_take_loop_variables(dtype: type) -> None:
    agree(weighted, np.arange(5, dtype=dtype))


def either_type(A, n):
    x = 2 if A[0] > n else 0.5
    return A * x


@pytest.mark.parametrize("n", [0, 5])
def test_numbers_of_two_types_in_a_conditional(n: int) -> None:
    agree(either_type, VECTOR, n)


def numpy_types_differ(A, n):
    return A * (np.int64(3) if A[0] > n else np.float32(0.5))


def test_numpy_numbers_of_two_types_are_widened() -> None:
    agree(numpy_types_differ, VECTOR, 0)
    agree(numpy_types_differ, VECTOR, 100)


def element_types_differ(A, n):
    x = A * 2 if n > 0 else A
    if n > 3:
        x = A > 0
    return x


def returns_from_the_first_turn(A):
    for i in range(len(A)):
        return A[i]
    return -1.0


def test_return_in_every_turn() -> None:
    agree(returns_from_the_first_turn, VECTOR)


def test_arrays_of_two_types_are_refused() -> None:
    with pytest.raises(PolyoptError, match="PO0160"):
        compiled(element_types_differ, VECTOR, 5)


def reduced_comprehensions(A, M):
    largest = np.max([x * 2 for x in A[1:]])
    return np.sum([row.sum() for row in M]), largest, np.mean([abs(v) for v in A])


def test_comprehensions_are_arrays_to_numpy() -> None:
    agree(reduced_comprehensions, VECTOR, np.arange(12.0).reshape(3, 4))


def real_types(z):
    x = z.astype(float)
    x += np.ones(len(z), np.complex128).astype(int)
    return x, z.astype(np.int32), z.astype(bool), z[1].astype(np.float32)


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_astype_keeps_the_real_parts():
    agree(real_types, np.array([1 + 2j, -3.5j, 2.5]))


def of_two_sets(a, b):
    return np.intersect1d(a, b), np.setdiff1d(a, b), np.union1d(a, b)


SETS = (
    np.array([3, 1, 7, 1], np.int8),
    np.array([7, -1, 3], np.int64),
    np.array([2**64 - 1, 3], np.uint64),
    np.array([np.nan, 3.0, -np.inf, np.nan]),
    np.zeros(0),
    np.zeros(0, np.int32),
)


@pytest.mark.parametrize("b", SETS)
@pytest.mark.parametrize("a", SETS)
def test_sets_of_other_types_and_without_elements(a: np.ndarray, b: np.ndarray) -> None:
    agree(of_two_sets, a, b)


def put_in(A, k):
    return np.insert(A, k, 5.0)


def left_out(A, k):
    return np.delete(A, k)


def found_at(k, A):
    return np.unravel_index(k, (2, 3))


def numbered(k, A):
    return np.ravel_multi_index((k, k), (2, 3))


@pytest.mark.parametrize("k", [0, 2, 4, -1, -4])
def test_insert_counts_from_either_end(k: int) -> None:
    agree(put_in, VECTOR, k)
    if k < 4:
        agree(left_out, VECTOR, k)


@pytest.mark.parametrize(
    "func, args",
    [
        *((put_in, (VECTOR, k)) for k in (5, -5)),
        *((left_out, (VECTOR, k)) for k in (4, -5)),
        *((found_at, (np.array(k), VECTOR)) for k in ([0, 6], [-1])),
        *((numbered, (np.array(k), VECTOR)) for k in ([0, 2], [-1])),
    ],
)
def test_positions_outside_are_errors(func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with pytest.raises((IndexError, ValueError)):
        func(*args)
    with pytest.raises(PolyoptError):
        run_program(compiled(func, *args), args)


def row_put_in(M):
    return np.insert(M, 0, 5.0, axis=0), np.insert(M, -1, M[:, 0], axis=1)


def test_rows_put_into_a_matrix_without_rows() -> None:
    agree(row_put_in, np.zeros((0, 3)))
    agree(row_put_in, np.arange(6.0).reshape(2, 3))


def set_under_mask(A, m):
    A[m] = 1.0


def added_under_mask(A, m):
    A[m] += 1.0


def stretched(A, m):
    return np.broadcast_to(A, (2, len(m)))


def convolved(A, m):
    return np.convolve(A, m)


def average_by(A, m):
    return np.average(A, weights=m)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "func, second",
    [
        (set_under_mask, np.ones(1, bool)),
        (added_under_mask, np.ones(1, bool)),
        (stretched, np.ones(1)),
        (convolved, np.ones(0)),
        (average_by, np.array([1.0, -1.0, 2.0, -2.0])),
    ],
)
def test_what_numpy_does_not_stretch_or_divide(func: Callable[..., Any], second: Any) -> None:
    with pytest.raises((ValueError, IndexError, ZeroDivisionError)):
        func(VECTOR.copy(), second)
    kernel = po.kernel(func)
    with pytest.raises(PolyoptError):
        kernel(VECTOR.copy(), second)
    fitting = np.ones(4, second.dtype)
    ours, theirs = VECTOR.copy(), VECTOR.copy()
    assert np.array_equal(kernel(ours, fitting), func(theirs, fitting))
    assert np.array_equal(ours, theirs)
