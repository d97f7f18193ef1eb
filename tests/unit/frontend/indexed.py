"""Programs whose subscripts are found while they run: index arrays, masks, computed positions."""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(3)
X, A, T = RNG.random(5), RNG.random((5, 4)), RNG.random((3, 4, 5))
IDX = np.array([3, 0, -5, 2, 2, -1])
P, Q = np.array([2, -1, 0]), np.array([1, -2, 0], np.int32)
NONE = np.array([], np.int64)
FLAGS = np.array([1, 0, 1, 1, 0], bool)


def gather(x, idx, y):
    for i in range(len(idx)):
        y[i] = x[idx[i]]


def histogram(h, v):
    for i in range(len(v)):
        h[v[i]] += 1


def chained(x, idx):
    s = 0.0
    for i in range(len(idx)):
        s += x[idx[idx[i]]] * x[idx[i] % len(x)]
    return s


def rows(A, p, out):
    for i in range(len(p)):
        row = A[p[i]]
        out[i] = row * row[0]
        A[p[i], 1:] += 1


def chain(A, p, q, m):
    for i in range(len(p)):
        A[p[i]][q[i]] += 1.0
        A[p[i]][q] = A[q[i]][0]
        A[p[i]][m] = 0.5


def flattened(a, n, m):
    out = np.zeros(n * m)
    for i in range(n):
        for j in range(m):
            out[i * m + j] = a[j * n + i]
    return out


def under_a_condition(x, f, y):
    for i in range(len(y)):
        if f[i] and x[i + 1] > 0.1:
            y[i] = x[i + 1]


def short_circuit(a, j, y):
    for i in range(len(j)):
        if j[i] >= 0 and a[j[i]] > 0.3:
            y[i] = 1
        y[i] += a[j[i]] if j[i] >= 0 else -1


def under_guards(x, i, y):
    for k in range(len(i)):
        j = i[k]
        y[k] = x[j] if 0 <= j < len(x) else -1.0
        if j >= 0 and j < len(x):
            x[j] += x[j % len(x)]


def fancy(x, idx):
    return x[idx]


def fancy_rows(A, p):
    return A[p], A[:, p], A[p, 1:], A[..., p]


def pairs(A, p, q):
    return A[p, q], A[p[:, None], q], A[[0, 2], [1, -1]]


def placed(T, p, q):
    return T[p, :, q], T[0, :, p], T[:, 0, p], T[p, None, 1], T[:, p, q]


def label(A, n, labels):
    A[np.arange(n), labels] -= 1
    return A[np.arange(n), labels]


def swap(A, i, j):
    A[[i, j]] = A[[j, i]]
    A[:, [0, 1]] = A[:, [1, 0]]


def scatter(x, idx, v):
    x[idx] = v
    x[idx] += v
    x[idx[:2]] *= 2


def itself(idx):
    idx[idx] = idx[::-1]


def accumulate(x, A, idx, j, v):
    np.add.at(x, idx, v)
    np.maximum.at(x, idx, 0.5)
    np.negative.at(x, idx)
    np.multiply.at(A, (idx, j), v)
    np.subtract.at(A, idx, 1)


def taken(x, A, idx, q):
    return (
        np.take(x, idx),
        np.take(A, q, axis=1),
        A.take(idx),
        np.take(x, idx * 3, mode="wrap"),
        np.take(x, idx * 3, mode="clip"),
        A[np.ix_(idx, q)],
        np.take_along_axis(A, np.argsort(A, axis=1), axis=1),
    )


def put(x, A, idx, order):
    np.put(x, idx, 2.0)
    np.put_along_axis(A, order, 0.0, axis=1)


def lookup(img, table):
    return table[img], np.bincount(img.ravel(), minlength=256)


def picked(x, m):
    y = x[m]
    return y, y.sum() + y[0] + len(y), np.max(x[x > 0.1]), x[m][::-1]


def picked_rows(A, m):
    A[m, 1:] = 3.0
    A[:, 0][m] += 1
    return A[m], A[m].sum(axis=0), A[m, 1]


def columns(A, m):
    return A[:, m], A[1:, m] * 2


def under_a_mask(x, v):
    x[x > 0.6] = v
    x[x > 0.6] += v


def masks_meet(x):
    low, high = x[x <= 0.5], x[x > 0.5]
    return low.sum() - high.mean() + (low[:2] * high[:2]).sum()


def positions(x, A):
    i = np.where(x > 0.5)[0]
    rows, columns = np.nonzero(A > 0.5)
    return x[i] * 2, rows + columns, np.argwhere(A > 0.3), np.flatnonzero(A < 0.2)


def selected(x, m):
    return np.compress(m, x), np.extract(x > 0.2, x), np.count_nonzero(x[m])


def different(v):
    return np.unique(v), np.unique(v, return_index=True, return_inverse=True, return_counts=True)[3]


def of_sets(a, b):
    return np.intersect1d(a, b), np.setdiff1d(a, b), np.union1d(a, b)


def chosen(i, a, b):
    return np.choose(i, [a, b, 3.0]), i.choose([a, -a], mode="wrap")


def counted_in_c_order(A):
    i, j = np.unravel_index(np.argmax(A), A.shape)
    return A[i, j] + np.ravel_multi_index((i, j), A.shape)


def counted(v, w):
    h = np.bincount(v, weights=w)
    return h.sum() + h.size, np.bincount(v, minlength=9)


def counting_sort(a, k):
    count, out = np.zeros(k, dtype=np.int64), np.empty_like(a)
    for x in a:
        count[x] += 1
    for i in range(1, k):
        count[i] += count[i - 1]
    for i in range(len(a) - 1, -1, -1):
        count[a[i]] -= 1
        out[count[a[i]]] = a[i]
    return out


def knapsack(w, v, cap):
    best = np.zeros(cap + 1, dtype=np.int64)
    for i in range(len(w)):
        for c in range(cap, -1, -1):
            if c >= w[i]:
                best[c] = max(best[c], best[c - w[i]] + v[i])
    return best[cap]


def searched(a, v):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


NARROW = tuple(IDX[IDX >= 0].astype(t) for t in ("u1", "i1", "u2", "i4", "u4", "u8"))
PROGRAMS: tuple[tuple[Any, ...], ...] = (
    (gather, X, IDX, np.zeros(6)),
    *((gather, X, narrow, np.zeros(4)) for narrow in NARROW),
    (gather, X[:0], NONE, np.zeros(0)),
    (histogram, np.zeros(5), IDX),
    (histogram, np.zeros(5, np.int32), NARROW[0]),
    (chained, X, np.array([1, 4, 0, -2, 3])),
    (rows, A, P, np.zeros((3, 4))),
    (chain, A, P, Q, FLAGS[:4]),
    (flattened, RNG.random(12), 3, 4),
    (under_a_condition, X, FLAGS, np.zeros(5)),
    (short_circuit, X, np.array([-1, 4, 2]), np.zeros(3)),
    (short_circuit, X[:0], np.array([-1, -4]), np.zeros(2)),
    (under_guards, X, np.array([1, -3, 9]), np.zeros(3)),
    (under_guards, X[:0], np.array([1, -3, 9]), np.zeros(3)),
    (fancy, X, IDX),
    (fancy, X, NONE),
    (fancy, X[:0], NONE),
    (fancy, A, np.array([[0, 1], [-1, 2]])),
    (fancy_rows, A, P),
    (pairs, A, P, Q),
    (placed, T, P, Q),
    (label, A, 5, np.array([0, 1, 3, 2, -1])),
    (swap, A, 1, -1),
    (scatter, X, IDX, RNG.random(6)),
    *([(itself, np.array([1, 2, 3, 0]))] if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else []),
    (accumulate, X, A, IDX, np.array([1, -2, 3, 0, 0, 1]), RNG.random(6)),
    (taken, X, A, IDX, Q),
    (put, X, A, IDX, np.array([[0, 1], [1, 2], [-1, 0], [0, 0], [3, 1]])),
    (lookup, RNG.integers(0, 256, (3, 5)).astype(np.uint8), RNG.random(256)),
    (picked, X, np.array([1, 1, 0, 1, 0], bool)),
    (picked_rows, A, FLAGS),
    (picked_rows, A, np.zeros(5, bool)),
    (columns, A, np.array([1, 0, 0, 1], bool)),
    (under_a_mask, np.array([0.1, 0.9, 0.8, 0.2]), np.array([5.0, 6.0])),
    (masks_meet, np.linspace(0, 1, 9)),
    (positions, X, A),
    (selected, X, FLAGS),
    (different, np.array([3, 1, 3, 2, 1])),
    (different, np.array([1.0, np.nan, -0.0, np.nan, 0.0])),
    (different, np.zeros(0)),
    (of_sets, np.array([3, 1, 2, 3]), np.array([2, 3, 9])),
    (chosen, np.array([0, 2, 1, 1]), X[:4], X[1:]),
    (counted_in_c_order, A),
    (counted, np.array([1, 4, 1]), np.array([0.5, 2.0, 1.0])),
    (counting_sort, RNG.integers(0, 7, 12), 7),
    (knapsack, np.array([2, 3, 4]), np.array([3, 4, 6]), 7),
    (searched, np.sort(RNG.random(9)), 0.5),
)

OUTSIDE: tuple[tuple[Any, ...], ...] = (
    (gather, X, np.array([0, 5]), np.zeros(2)),
    (gather, X, np.array([-6, 0]), np.zeros(2)),
    (gather, X, np.array([5], np.uint64), np.zeros(1)),
    (histogram, np.zeros(5), np.array([0, 9])),
    (fancy, X, np.array([1, 2**40])),
    (scatter, X, np.array([0, 7]), np.ones(2)),
    (accumulate, X, A, np.array([0]), np.array([4]), np.ones(1)),
    (under_a_condition, X, np.ones(5, bool), np.zeros(5)),
    (short_circuit, X, np.array([0, 5]), np.zeros(2)),
    (short_circuit, X[:0], np.array([-1, 0]), np.zeros(2)),
    (taken, X, A, np.array([0, 5]), Q),
    (knapsack, np.array([-1]), np.array([3]), 4),
    (chain, A, np.array([0, 5, 0]), Q, FLAGS[:4]),
)
