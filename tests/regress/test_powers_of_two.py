"""Quotients and rests by powers of two: shifts and masks in C, NumPy's values for any sign."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def parts(x, quotients, rests):
    for i in range(x.shape[0]):
        quotients[i, 0] = x[i] // 1
        quotients[i, 1] = x[i] // 2
        quotients[i, 2] = x[i] // 64
        rests[i, 0] = x[i] % 1
        rests[i, 1] = x[i] % 2
        rests[i, 2] = x[i] % 64 + x[i] // 4 * 2


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_values(dtype):
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 63, 64, 65]
    edges += [-1, -2, -63, -64, -65] if info.min else []
    x = np.array(edges, dtype)
    found = [np.zeros((len(x), 3), dtype) for _ in range(2)]
    wanted = [np.zeros((len(x), 3), dtype) for _ in range(2)]
    kernel = po.kernel(parts)
    kernel(x, *found)
    with np.errstate(over="ignore"):
        parts(x, *wanted)
    np.testing.assert_array_equal(found, wanted)
    assert "floor" not in kernel.compile(x, *found).c


def halved(lo: int, hi: int):
    steps = 0
    while lo < hi:
        lo = (lo + hi) // 2 + 1
        steps += lo % 4
    return lo, steps


def test_python_integers():
    for lo, hi in [(-(2**40), 2**40), (-7, 9), (5, 2), (-(2**61), 2**61)]:
        assert po.kernel(halved)(lo, hi) == halved(lo, hi)
