"""`a.shape = sizes`, by every name of the array."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def rows(x, n):
    y = x * 2.0
    y.shape = (n, x.shape[0] // n)
    return y.sum(axis=0)


def flat(x):
    y = x.copy()
    y.shape = -1
    return y[::2]


def two_names(x):
    y = x + 1.0
    z = y
    y.shape = x.shape[0] * x.shape[1]
    return z[3:9]


def view(x):
    y = x + 1.0
    z = y[:]
    y.shape = (x.shape[0] * x.shape[1],)
    y[0] = 5.0
    return z, y


def at_once(x):
    y, z = x + 1.0, x * 2.0
    y.shape = z.shape = x.shape[0] * x.shape[1]
    return y * z


def left_open(x):
    y = np.zeros(x.shape)
    y.shape = (2, -1)
    y[1] = 3.0
    return y


def grid(x):
    i, j = np.mgrid[0 : x.shape[0], 0 : x.shape[1]]
    i.shape = j.shape = x.shape[0] * x.shape[1]
    return i * 10 + j


def _flattened(a):
    a.shape = a.shape[0] * a.shape[1]
    return a


def in_a_function(x):
    y = x + 1.0
    z = _flattened(y)
    return y[5] + z[2]


def in_a_loop(x):
    total = 0.0
    for i in range(3):
        y = x * i
        y.shape = x.shape[0] * x.shape[1]
        total += y[i]
    return total


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [flat, two_names, view, at_once, left_open, grid,
                                  in_a_function, in_a_loop])  # fmt: skip
def test_the_array_has_another_shape(func):
    x = np.arange(24.0).reshape(4, 6)
    got, want = po.kernel(func)(x.copy()), func(x.copy())
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    assert all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.toolchain
def test_rows():
    assert np.array_equal(po.kernel(rows)(np.arange(12.0), 3), rows(np.arange(12.0), 3))


def of_an_argument(x):
    x.shape = x.shape[0] * x.shape[1]
    return x * 2.0


def of_another_name_in_a_branch(x, n):
    y = x + 1.0
    z = y
    if n > 2:
        y.shape = x.shape[0] * x.shape[1]
    return z


def of_an_item(x):
    y = x + 1.0
    both = (y, x)
    y.shape = x.shape[0] * x.shape[1]
    return both[0]


@pytest.mark.parametrize(
    ("func", "types", "message"),
    [
        (of_an_argument, (po.f64["N,M"],), "is the caller's"),
        (of_another_name_in_a_branch, (po.f64["N,M"], po.i64), "in a loop or branch"),
        (of_an_item, (po.f64["N,M"],), "the tuple `both` holds"),
    ],
)
def test_what_others_see_is_refused(func, types, message):
    with pytest.raises(po.PolyoptError, match=message) as caught:
        po.kernel(func).schedule(*types)
    assert caught.value.code == "PO0163"
