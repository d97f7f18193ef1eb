"""Sums of 64 bits that wrap have no bounds: subscripts made of them are checked on both sides."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


@po.kernel
def added(a, x, y, out):
    for i in range(x.shape[0]):
        out[i] = a[max(x[i], 0) + max(y[i], 0)]


@po.kernel
def doubled(a, x, out):
    for i in range(x.shape[0]):
        out[i] = a[max(x[i], 0) * 4 + 1]


@po.kernel
def below(a, x, out):
    for i in range(x.shape[0]):
        out[i] = a[min(x[i], 9) - 1]


LARGE = 2**62 + 2**61


@pytest.mark.toolchain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("kernel", "columns"),
    [(added, ([1, LARGE], [2, LARGE])), (doubled, ([1, LARGE],)), (below, ([4, -(2**63)],))],
)
def test_a_sum_that_wraps_is_no_subscript(kernel, columns):
    a, out = np.arange(10.0), np.zeros(2)
    given = [np.array(column) for column in columns]
    for call in (kernel.py_func, kernel):
        with pytest.raises(IndexError):
            call(a, *given, out)
    kernel(a, *(column[:1] for column in given), out[:1])
    expected = np.zeros(1)
    kernel.py_func(a, *(column[:1] for column in given), expected)
    assert out[0] == expected[0]
