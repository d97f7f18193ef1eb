"""A slice of one element broadcasts, as in NumPy, and empty arrays stay empty."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError


def first_column(A):
    A -= A[:, 0:1]


def first_row(A):
    return A / (A[:1] + 100.0)


def of_another(A, B):
    A[:, :] = A + B[:, :1]


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (4, 1), (3, 0), (0, 3)])
@pytest.mark.parametrize("func", [first_column, first_row])
def test_slices_of_one_element(func, shape):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    want = array.copy()
    returned = func(want)
    got = array.copy()
    answer = po.kernel(func)(got)
    assert np.array_equal(want, got)
    assert (returned is None) == (answer is None)
    assert returned is None or np.array_equal(returned, answer)


@pytest.mark.toolchain
def test_of_another_array():
    kernel = po.kernel(of_another)
    array, other = np.ones((2, 3)), np.arange(10.0).reshape(2, 5)
    kernel(array, other)
    assert np.array_equal(array, np.ones((2, 3)) + other[:, :1])
    with pytest.raises(ArgumentError, match="must be 1"):
        kernel(np.ones((2, 3)), np.ones((2, 0)))
