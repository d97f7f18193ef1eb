"""Integers of NumPy's with constants that leave 64 bits: they wrap, in sizes and iterators, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po

pytestmark = [pytest.mark.toolchain, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def equal(kernel: Any, *args: Any) -> None:
    """Compare values and types with Python's."""
    for mine, other in zip(kernel(*args), kernel.py_func(*args), strict=True):
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(mine, other)


@po.kernel(threads=1)
def numbers(x):
    big, least = np.int64(2**62), np.int64(-(2**63))
    return (
        big * np.int64(4) * 1.0, (big + big) * 1.0, -least * 1.0, (least - np.int64(1)) * 1.0,
        np.int64(3) ** 41 * 1.0, (big << np.int64(1)) * 1.0, -np.uint32(1) * 1.0, -np.uint8(100),
        x * (big * np.int64(3)),
    )  # fmt: skip


@po.kernel(threads=1)
def arrays(n):
    x = np.arange(n)
    hashed = x * 6364136223846793005 + 1442695040888963407
    return (
        np.full(3, 2**62) * 4, x * 2**62 * 3, x * 2**62 % 5, (x * 2**61 * x) // 3, hashed % 1000,
        hashed > 0, (x * 2**40) ** 2, x * 2**62 + x * 2**62, (x + 2**62) * 2 + 2**62,
    )  # fmt: skip


@po.kernel(threads=1)
def loops(n, x):
    for i in range(n):
        if np.int64(i) * np.int64(2**62) > 0:
            x[i] = np.int64(i) * np.int64(2**62) * np.int64(3)
    return x, np.int64(n) * np.int64(2**62) // np.int64(2)


@po.kernel(threads=1)
def conversions(x):
    return (
        np.uint8(np.int64(-5)), np.uint64(np.int64(-1)), np.int8(np.int16(300)),
        np.full(3, np.int64(300)).astype(np.uint8), x.astype(np.uint8),
    )  # fmt: skip


def test_constants_of_numpy_types_wrap() -> None:
    equal(numbers, np.arange(5))


def test_arrays_of_iterators_wrap() -> None:
    for n in (0, 1, 7):
        equal(arrays, n)


def test_loops_over_iterators_wrap() -> None:
    equal(loops, 5, np.zeros(5, np.int64))


def test_conversions_of_constants_wrap() -> None:
    equal(conversions, np.array([300, -1, 5]))
