"""Sums and extrema of lists of NumPy's numbers are NumPy's, with their type."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


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
