"""Subscripts that are choices, in arrays with strides: they are terms of a sum in the text."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def from_the_end(a, c):
    m = a.shape[1]
    for k in [3, -1]:
        c[k % len(c), -1] *= c[-1, m % m] - c[-1, 7 % m] - c[-1 % a.shape[0], c.shape[0] % m]


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(None, None, 2), slice(None)])
def test_views_with_strides(rows) -> None:
    def made() -> tuple[np.ndarray, np.ndarray]:
        count = 8 if rows.step == 2 else 4
        return np.ones((4, 3)), np.arange(1.0, 3 * count + 1).reshape(count, 3)[rows]

    (a, want), (_, found) = made(), made()
    from_the_end(a, want)
    po.kernel(from_the_end)(a, found)
    assert np.array_equal(found, want)


def read_where_data_say(a, c):
    return c[1, 1 if a[0, 0] > 0 else 2]


def write_where_data_say(a, c):
    c[1, 1 if a[0, 0] > 0 else 2] = 4.0
    return c


@pytest.mark.parametrize("function", [read_where_data_say, write_where_data_say])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_choices_by_data(function, sign) -> None:
    a = np.full((2, 3), sign)
    want = function(a, np.arange(12.0).reshape(3, 4))
    found = po.kernel(function)(a, np.arange(12.0).reshape(3, 4))
    assert np.array_equal(found, want)


def sums_by_class(x, y, sums):
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            sums[y[i], d] += x[i, d]


@pytest.mark.parametrize("threads", [1, 2])
def test_lanes_go_along_rows_that_data_choose(threads) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, (40, 7)).astype(np.float64), rng.integers(0, 3, 40)
    want, found = np.zeros((3, 7)), np.zeros((3, 7))
    sums_by_class(x, y, want)
    kernel = po.kernel(sums_by_class, threads=threads)
    kernel(x, y, found)
    assert np.array_equal(found, want)
    loop = kernel.compile(x, y, found).c.split("#pragma omp simd")[-1]
    assert "[d] += x[i][d]" in loop
