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
