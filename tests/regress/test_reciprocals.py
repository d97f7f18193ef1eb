"""Reciprocals of integers and of complex numbers are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


@po.kernel(threads=1)
def reciprocals(x):
    return np.reciprocal(x)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
def test_a_reciprocal_of_an_integer_is_cut_off_and_not_rounded_down(kind: Any) -> None:
    x = np.array([1, 2, 3, -1, -2, -3, 100, -100]).astype(kind)
    assert reciprocals(x).tolist() == np.reciprocal(x).tolist()


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_a_complex_reciprocal_is_scaled_by_the_larger_part(kind: Any) -> None:
    tiny = np.finfo(kind).smallest_subnormal
    x = np.array([1 + 2j, 3 - 1j, tiny, 1j * tiny, 2.0, -4j, np.inf], kind)
    with np.errstate(all="ignore"):
        want = np.reciprocal(x)
    got = reciprocals(x)
    np.testing.assert_array_equal(got.real, want.real)
    np.testing.assert_array_equal(got.imag, want.imag)
    assert (np.signbit(got.imag) == np.signbit(want.imag)).all()
