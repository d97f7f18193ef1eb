"""Views that NumPy does not write through, and arrays that only their layout tells from views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain


def broadcast(m):
    v = np.broadcast_to(m[0], (3, 5))
    w, _ = np.broadcast_arrays(m[1], m)
    m[:2, 0] = 55
    return v.sum(), w * 1


def windows(m):
    v = np.lib.stride_tricks.sliding_window_view(m[0], 3)
    d = np.diagonal(m)
    m[0] = 7
    return v * 1, d * 1


def contiguous(m):
    c = np.ascontiguousarray(m)
    c[2] = 3
    rows = np.ascontiguousarray(m[:2])
    rows[0] = 9
    columns = np.ascontiguousarray(m[:, 1:])
    columns[0] = -1
    turned = np.ascontiguousarray(m.T)
    turned[1] = -2
    return c, columns, turned


def fortran(m):
    c = np.asfortranarray(m.T)
    c[2] = 3
    other = np.asfortranarray(m)
    other[0] = 8
    return other


def copied(m):
    y = m.T.copy()
    y.reshape(-1)[0] = 100
    z = m * 2.0
    z.reshape(-1)[1] = 50
    p = m[:, None] * m[None]
    p.ravel()[3] = 4
    return y, z, p


def read(m):
    y = m.T * 2.0
    y[1] = 4
    return y.reshape(-1) + 1


@pytest.mark.parametrize("function", [broadcast, windows, contiguous, fortran, copied, read])
def test_views_and_copies_are_those_of_numpy(function: Any) -> None:
    given = np.arange(20.0).reshape(4, 5)
    ours = given.copy()
    expected, found = function(given), po.kernel(function)(ours)
    pairs = (
        zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    )
    assert all(np.array_equal(one, other) for one, other in pairs)
    assert np.array_equal(ours, given)


def write_broadcast(m):
    np.broadcast_to(m[0], (3, 5))[0, 0] = 1


def write_diagonal(m):
    d = np.diagonal(m)
    d += 1


def fill_diagonal(m):
    np.diag(m).fill(1)


@pytest.mark.parametrize("function", [write_broadcast, write_diagonal, fill_diagonal])
def test_what_numpy_does_not_write_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        function(np.ones((4, 5)))
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(np.ones((4, 5)))
    assert caught.value.code == "PO0163"


def of_columns(m):
    y = m.T * 2.0  # in Fortran order, so that its rows are a copy
    y.reshape(-1)[0] = 100
    return y


def kept_order(m):
    y = np.copy(m.T)
    v = y.ravel()
    y[0, 0] = 3
    return v * 1


def split(m):
    v = m.T.reshape(5, 2, 2)  # a view, since it merges nothing at this size
    v[0] = 1


def turned(m):
    v = m.T.reshape(-1)
    m[0, 0] = 3
    return v * 1


@pytest.mark.parametrize(
    ("function", "order"),
    [(of_columns, "C"), (kept_order, "C"), (split, "C"), (split, "F"), (turned, "F")],
)
def test_what_the_layout_decides_is_refused(function: Any, order: Any) -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(np.ones((4, 5), order=order))
    assert caught.value.code == "PO0160"
