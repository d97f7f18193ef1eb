"""Stores through views of lazy arrays change the array below, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError


def transposed(x):
    y = x * 1
    v = y.T
    v[1:] += 2
    v[0, 0] = 9
    w = v[0]
    w[:] = 1
    y[0, 0] = 5
    return y, v * 1, w * 1


def regrouped(x):
    y = x * 1
    v = y.reshape(-1)
    v[2:5] = -1
    w = y[1:].ravel()
    w += 3
    z = y.reshape(2, -1).T
    z[:, 1] *= 2
    return y, v * 1, z * 1


def flipped(x):
    y = x * 1
    v = np.fliplr(y)
    v[:, 0] = 1
    u = np.flipud(v)
    u[0] *= 3
    r = np.rot90(y)
    r[0] = 8
    y[1, 1] = 77
    return y, u * 1, r * 1


def moved(x):
    y = x * 1
    a = np.swapaxes(y, 0, 1)
    b = np.moveaxis(a, 0, 1)
    b[0] = 1
    a[0] = 2
    c = np.expand_dims(y, 0)
    c[0, 1] = 3
    np.squeeze(c)[2] *= 2
    t = np.transpose(y[None], (-1, 0, 1))
    t[0] -= 1
    return y, t * 1


def updated(x):
    y = x * 1
    y.T[0] += 4
    y.T[1:3][0] = 2
    y.T[y.T > 9] = 0
    np.add(y.T, 1, out=y.T)
    return y


def read(x):
    y = x * 1
    first, rest = np.split(y, [1])
    v = np.flip(y.T)
    y.real[0] = 6
    d = np.diagonal(y)
    y[1:] *= 2
    return first * 1, rest * 1, v * 1, d * 1


def bare(x):
    y = x * 1
    v = y[1, 2, ...]
    v += 5
    y[1] *= 2
    w = np.squeeze(y[0, 0, ...][None], axis=0)
    w -= 3
    w[...] = w + v
    number = y[2, 2]
    number += 100
    copy = y.flatten()
    copy[0] = 1000
    return y, v * 1, number, copy


@pytest.mark.toolchain
@pytest.mark.parametrize("build", [transposed, regrouped, flipped, moved, updated, read, bare])
def test_stores_through_views(build: Callable[[Any], Any]) -> None:
    given = np.arange(12.0).reshape(3, 4)
    x = po.tensor("x", po.f64["N,M"])
    function = po.compile(build(x))
    expected = build(given)
    found = function(given)
    pairs = (
        zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    )
    for one, other in pairs:
        assert np.array_equal(one, other)
    assert np.array_equal(given, np.arange(12.0).reshape(3, 4))


def above(x):
    y = x * 1
    v = y.T.reshape(-1)
    y[0] = 1
    return v


def of_columns(x):
    y = x.T * 2  # NumPy keeps the order of memory, so that this is a copy
    y.reshape(-1)[0] = 1


def of_fortran(x):
    y = po.lazy(np.ones((3, 4), order="F"))
    y.ravel()[0] = 1


def of_parts(x):
    np.split(x, 2)[0][0] = 1


@pytest.mark.parametrize("build", [above, of_columns, of_fortran, of_parts])
def test_stores_that_the_layout_decides_are_refused(build: Callable[[Any], Any]) -> None:
    with pytest.raises(FrontendError) as caught:
        build(po.tensor("x", po.f64["N,M"]))
    assert caught.value.code == "PO0804"


def test_a_copy_of_an_array_that_is_gone_may_be_written() -> None:
    v = (po.tensor("x", po.f64["N,M"]) * 2).T.reshape(-1)
    v[0] = 1
    assert v.ndim == 1
