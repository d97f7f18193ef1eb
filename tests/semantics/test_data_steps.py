"""Compiled kernels under steps that move data: NumPy's results, bit for bit where order is kept."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def matmul(c, a, b):
    n, m = c.shape
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def blur(a, b):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(n):
        for j in range(m - 2):
            t[i, j] = a[i, j] + a[i, j + 1] + a[i, j + 2]
    for i in range(n - 2):
        for j in range(m - 2):
            b[i, j] = t[i, j] + t[i + 1, j] + t[i + 2, j]


def last(x, y, s):
    for i in range(x.shape[0]):
        s[0] = x[i] * 2
        y[i] = s[0] + x[i]


CASES = {
    "pack": (
        matmul,
        "tile(L0, 8, 16, 8); pack(b, k_tile); pack(c, j_tile); parallelize(i_tile)",
        ((13, 21), (13, 10), (10, 21)),
    ),
    "recompute": (
        blur,
        "tile(L1, 4, 8); recompute(t, L1.tile[1]); parallelize(i_tile)",
        ((11, 19), (11, 19)),
    ),
    "contract": (blur, "shift(L1[0], 2); fuse(L0, L1); contract(t)", ((11, 19), (11, 19))),
    "layout": (blur, "layout(t, 1/8, 0, 1%8); parallelize(L0[0])", ((11, 19), (11, 19))),
    "expand": (last, "expand(s, i); parallelize(i)", ((40,), (40,), (1,))),
}


@pytest.mark.parametrize("name", CASES)
def test_the_source_is_matched(name):
    function, steps, shapes = CASES[name]
    rng = np.random.default_rng(3)
    given = [rng.random(shape) for shape in shapes]
    want = [array.copy() for array in given]
    po.kernel(schedule=steps)(function)(*given)
    function(*want)
    for got, expected in zip(given, want, strict=True):
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [np.nan, -np.inf, 7.0])
def test_partial_extremes(value):
    x = np.linspace(-3.0, 3.0, 41)
    x[5] = value
    kernel = po.kernel(schedule="tile(L0, 8); rfactor(S1, L0.tile[0]); parallelize(L0.tile[0])")
    got = kernel(np_max)(x)
    assert np.array_equal(got, np.max(x), equal_nan=True)


def np_max(x):
    return np.max(x)
