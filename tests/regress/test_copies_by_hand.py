"""Steps by hand that copy what kernels read, beside gathers and sums in another order."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def scattered(p, x, y):
    for i in range(p.shape[0]):
        y[i] = x[p[i]] * 2
    for i in range(p.shape[0]):
        x[p[i]] += y[i]


def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i + j] += a[i] * b[j]


@pytest.mark.parametrize("schedule", ["hold(p, L0)", "hold(p, L1)", "pack(p, L1)"])
def test_subscripts_are_copied(schedule) -> None:
    p = np.array([0, 1, 1, 4, 3, 0, 0])
    x, y = np.arange(5.0), np.ones(7)
    wanted = x.copy(), y.copy()
    scattered(p, *wanted)
    po.kernel(schedule=schedule)(scattered)(p, x, y)
    assert np.array_equal(x, wanted[0])
    assert np.array_equal(y, wanted[1])


@pytest.mark.parametrize("schedule", ["", "; reverse(i)", "; strip(j, 2)"])
def test_copies_before_all_loops(schedule) -> None:
    a, b = np.arange(5), np.arange(3, 12)
    c, wanted = np.zeros(13, np.int64), np.zeros(13, np.int64)
    products(a, b, wanted)
    po.kernel(schedule=f"interchange(j, i); hold(b, L0){schedule}")(products)(a, b, c)
    assert np.array_equal(c, wanted)
