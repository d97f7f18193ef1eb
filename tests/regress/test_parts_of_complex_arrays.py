"""`.real` and `.imag` of an array are views in NumPy: what tells a copy from them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain

GIVEN = np.array([1 + 2j, 3 - 1j, -2j, 4, 0.5 + 0.5j])


def read(c):
    r, i = c.real, c.imag
    return r * r + i * i


def copied(c):
    v = c.real.copy()
    w = c.imag * 2
    c[0] = 9
    v[1] = w[2]
    return v


def at_each_turn(c):
    s = 0.0
    for k in range(c.shape[0]):
        v = c.real
        s += v[k] + v[0]
        c[k] = 2j
    return s


@pytest.mark.parametrize("function", [read, copied, at_each_turn])
def test_parts_are_those_of_python(function: Any) -> None:
    ours, given = GIVEN.copy(), GIVEN.copy()
    assert np.array_equal(po.kernel(function)(ours), function(given))
    assert np.array_equal(ours, given)


def written(c):
    v = c.real
    v[0] = 5


def seen_later(c):
    v = c.imag[1:]
    c[2] = 9j
    return v * 1


@pytest.mark.parametrize("function", [written, seen_later])
def test_what_tells_a_copy_is_refused(function: Any) -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(GIVEN.copy())
    assert caught.value.code == "PO0160"
