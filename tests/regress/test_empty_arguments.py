"""What NumPy raises, or makes of another type, where an argument is empty."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def unused_argmin(a):
    n = np.argmin(a)  # noqa: F841


def unused_max(a):
    m = a.max()  # noqa: F841


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [unused_argmin, unused_max])
@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_a_call_that_raises_is_made_though_its_result_is_not_used(function, dtype):
    with pytest.raises(ValueError, match=r"empty|zero-size"):
        po.kernel(function)(np.zeros(0, dtype))
    assert po.kernel(function)(np.ones(3, dtype)) is None


def integers(c):
    return np.array([q + 1 for q in range(c.shape[0])])


def rows(c):
    return np.array([[q * 1.0, 2.0] for q in range(c.shape[0])])


def floats(c):
    return np.array([q * 1.5 for q in range(c.shape[0])])


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [integers, rows, floats])
def test_arrays_of_empty_lists(function):
    kernel = po.kernel(function)
    for size in (3, 1):
        got, want = kernel(np.zeros(size)), function(np.zeros(size))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    if function is floats:
        assert kernel(np.zeros(0)).shape == (0,)
        return
    with pytest.raises(po.PolyoptError, match="empty list") as error:
        kernel(np.zeros(0))
    assert error.value.code == "PO0173"
