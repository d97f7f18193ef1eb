"""Strides are passed in elements, whatever the size of an element."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def transposed(A, B):
    A[:, :] = B.T


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64", "complex128"])
def test_strides_count_elements(dtype):
    source = np.arange(12).reshape(4, 3).astype(dtype)
    target = np.zeros((3, 4), dtype, order="F")
    po.kernel(transposed)(target, np.asfortranarray(source))
    assert np.array_equal(target, source.T)


def reshaped_row(a):
    t = a.reshape(-1)
    t += 2
    u = a.reshape(-1, 2)
    u[1] *= 3
    a[::2].reshape(-1)[0] = 7
    return a, u


@pytest.mark.toolchain
@pytest.mark.parametrize("step", [1, -1, 2])
def test_reshape_of_a_row_is_a_view(step) -> None:
    count = 8 if step == 2 else 4
    found, wanted = np.arange(float(count))[::step], np.arange(float(count))[::step]
    results, expected = po.kernel(reshaped_row)(found), reshaped_row(wanted)
    assert np.array_equal(found, wanted)
    assert all(map(np.array_equal, results, expected))
