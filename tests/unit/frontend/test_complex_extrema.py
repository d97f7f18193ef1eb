"""Maxima and minima of complex numbers, which NumPy orders by their parts."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from tests.unit.frontend.harness import agree


def extrema(a):
    return np.max(a), a.min(), np.argmax(a), a.argmin()


def along_axes(a):
    columns = np.max(a.reshape(1, -1), axis=0, keepdims=True)
    return columns - a, np.amin(a.reshape(-1, 1), axis=1)


def of_parts(a):
    total = 0j * a[0]
    for i in range(len(a)):
        if a[i].real > 0:
            total += a[: i + 1].max() * i
    return total


ITEMS = [
    [5, 4j, 3],
    [1, 1 - 1j, 1, -0.0],
    [-1, complex(0, np.nan), 3],
    [-0.0, 0j, complex(0, -0.0)],
]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("items", ITEMS, ids=range(4))
@pytest.mark.parametrize("func", [extrema, along_axes, of_parts])
def test_equal_to_numpy(func, items, dtype):
    agree(func, np.array(items, dtype))


@pytest.mark.toolchain
def test_compiled():
    values = np.array(ITEMS[0], complex)
    assert po.kernel(extrema)(values) == extrema(values)
