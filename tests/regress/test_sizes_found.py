"""Histograms with weights; repeats and reshapes by sizes that the kernel finds."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain

X, W = np.random.default_rng(1).random((2, 60))
I = np.random.default_rng(2).integers(0, 9, 60)
EDGES = np.linspace(0.0, 1.0, 9)


def weights(x, w, n):
    return np.histogram(x, n, weights=w)


def weights_of_integers(x, w):
    return np.histogram(x, bins=7, weights=w)


def weights_and_edges(x, w, e):
    return np.histogram(x, bins=e, weights=w, density=True)


def weights_and_range(x, w, low):
    return np.histogram(x, 5, range=(low, 0.8), weights=w)


def weights_of_a_matrix(x, w):
    return np.histogram(x.reshape(6, 10), 5, weights=w.reshape(6, 10))


def plane(x, y, w):
    return np.histogram2d(x, y, bins=(4, 3), weights=w)


def plane_of_edges(x, y, e):
    return np.histogram2d(x, y, bins=[e, 3], range=[[0.0, 1.0], [0.0, 0.5]])


def plane_of_same_edges(x, y, e):
    return np.histogram2d(x, y, bins=e, density=True)


def edges(x):
    return (np.histogram_bin_edges(x, 8),)


def repeated(x, n):
    return np.repeat(x, n), x.repeat(n), np.repeat(x.reshape(6, 10), n, axis=0)


def repeated_as_often_as_columns(x):
    a = x.reshape(6, 10)
    return (np.repeat(a[:, :1], a.shape[1], axis=1) * a,)


def repeated_by_a_list(x):
    a = x[:6].reshape(2, 3)
    return np.repeat(a, [1, 2, 0], axis=1), np.repeat(a, (3,), axis=0)


def repeated_by_an_array(x, c):
    found = np.repeat(x, c)
    return found.sum(), found[7]


def repeated_in_a_loop(x, n):
    s = np.zeros(n)
    for i in range(n):
        s[i] = np.repeat(x[:2], 2**i)[-1] + np.repeat(x, i + 1).sum()
    return (s,)


def radices(x, r, k):
    y = x.copy()
    for i in range(k):
        v = np.reshape(y, (r**i, r, r ** (k - i - 1)))
        y[:] = np.reshape(np.transpose(v, (1, 0, 2)), (x.shape[0],))
    return (y,)


def by_factors(x, f):
    y = x.copy()
    for i in range(f.shape[0]):
        n = f[i]
        y[:] = y.reshape(n, x.shape[0] // n).T.reshape(x.shape[0])
    return (y,)


def left_open(x, f):
    n = f[0]
    return (x.reshape(n, -1).sum(axis=0)[0], x.reshape(-1, n).sum(axis=1)[1])


def halved(x):
    n = x.shape[0]
    s = 0.0
    while n > 1:
        n //= 2
        s += x[: 2 * n].reshape(2, n).sum(axis=0).max()
    return (s,)


def butterflies(x):
    n = x.shape[0]
    y = x + 0j
    width = 1
    while width < n:
        e = y.reshape(n // (2 * width), 2, width)
        t = np.exp(-1j * np.pi * np.arange(width) / width)
        y = np.concatenate((e[:, 0] + t * e[:, 1], e[:, 0] - t * e[:, 1]), axis=1).reshape(n)
        width *= 2
    return (y,)


CALLS = [
    (weights, (X, W, 10)),
    (weights_of_integers, (X, I)),
    (weights_and_edges, (X, I, EDGES)),
    (weights_and_range, (X, W, 0.25)),
    (weights_of_a_matrix, (X, W)),
    (plane, (X, W, I)),
    (plane_of_edges, (X, W, EDGES)),
    (plane_of_same_edges, (X, W, EDGES)),
    (edges, (X,)),
    (repeated, (X, 3)),
    (repeated, (X, 0)),
    (repeated_as_often_as_columns, (X,)),
    (repeated_by_a_list, (X,)),
    (repeated_by_an_array, (X, I)),
    (repeated_in_a_loop, (X, 4)),
    (radices, (X[:16], 2, 4)),
    (radices, (X[:27], 3, 3)),
    (by_factors, (X, np.array([2, 3, 10]))),
    (left_open, (X, np.array([5]))),
    (halved, (X,)),
    (butterflies, (X[:32],)),
]


@pytest.mark.parametrize(("func", "args"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_as_numpy(func, args):
    got, want = po.kernel(func)(*args), func(*args)
    for one, other in zip(got, want, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.shape(one) == np.shape(other)
        assert np.allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("func", "args", "message"),
    [
        (by_factors, (X, np.array([7])), "as many elements"),
        (left_open, (X, np.array([7])), "as many elements"),
        (left_open, (X, np.array([0])), "left|as many|open"),
        (repeated_by_an_array, (X, -I), "negative"),
        (weights_of_integers, (X, I[1:]), "must be"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(func, args, message):
    with pytest.raises(po.PolyoptError, match=message):
        po.kernel(func)(*args)
