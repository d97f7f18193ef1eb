"""`list(range(...))` of a length that only the call knows."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def squares(n):
    total = 0
    for value in list(range(n)):
        total += value * value
    return total


def odd(n):
    s = list(range(3, n + 1, 2))
    s[0] = 7
    return np.array(s).sum()


def downwards(n):
    s = list(range(n, 0, -1))
    for i in range(len(s)):
        s[i] = s[i] * 2
    return s[0] + s[-1] * len(s)


def longer(n):
    s = list(range(n)) + [5]  # noqa: RUF005
    return len(s) + s[n]


@pytest.mark.parametrize("func", [squares, odd, downwards, longer])
@pytest.mark.parametrize("n", [4, 9])
def test_as_python(func, n):
    assert po.kernel(func)(n) == func(n)


def test_of_nothing():
    assert po.kernel(squares)(0) == 0
