"""Lists that grow under conditions, in several loops, after first items."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled


def peaks(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            found.append(i)
    return np.array(found, dtype=np.int64), len(found)


def smoothed(x):
    s = [x[0]]
    for i in range(1, len(x)):
        s.append(0.3 * x[i] + 0.7 * s[i - 1])
    return np.array(s)


def coordinates(A):
    rows, cols = [], []
    values = []
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0:
                rows.append(i)
                cols.append(j)
                values.append(A[i, j] * 2)
    return np.array(rows, dtype=int), np.array(cols, dtype=int), np.array(values, dtype=float)


def two_loops(x):
    out = []
    for v in x:
        out.append(v * 2)
    for v in x:
        if v > 0:
            out.append(v)
    total = 0.0
    for v in out:
        total += v
    return total, np.mean(out), max(out), out[-1]


def runs(x):
    lengths = [0]
    n = 0
    for i in range(len(x)):
        if x[i] > 0:
            n += 1
        elif n:
            lengths.append(n)
            n = 0
    return np.array(lengths).sum(), len(lengths)


def without_end(x):
    out = []
    t = x[0]
    while t > 0.1:
        out.append(t)
        t /= 2
    return np.array(out)


def rows_of_arrays(A):
    out = []
    for i in range(len(A)):
        if A[i, 0] > 0:
            out.append(A[i])
    return np.array(out)


WAVE = np.sin(np.arange(40.0) * 1.7)


@pytest.mark.parametrize("size", [1, 2, 40])
@pytest.mark.parametrize("function", [peaks, smoothed, two_loops, runs])
def test_equal_to_python(function, size):
    agree(function, WAVE[:size])


@pytest.mark.parametrize("shape", [(5, 8), (0, 3), (1, 1)])
def test_two_loops_around_an_append(shape):
    agree(coordinates, WAVE[: shape[0] * shape[1]].reshape(shape))


@pytest.mark.parametrize("function, value", [(without_end, WAVE), (rows_of_arrays, WAVE[:, None])])
def test_refused(function, value):
    with pytest.raises(PolyoptError) as caught:
        compiled(function, value)
    assert caught.value.code == "PO0152"


def primes(n):
    found = []
    for i in range(2, n):
        for p in found:
            if i % p == 0:
                break
        else:
            found.append(i)
    return np.array(found, dtype=np.int64)


def earlier_items(n):
    found = []
    out = np.zeros(n)
    for i in range(n):
        for p in found:
            out[i] += p
        found.append(i)
    return out, len(found)


def lengths(n):
    found = []
    before, after = np.zeros(n), np.zeros(n)
    for i in range(n):
        before[i] = len(found)
        found.append(i)
        after[i] = len(found)
    return before, after


def by_function(n):
    found = []
    out = np.zeros(n)

    def count():
        return len(found)

    for i in range(n):
        out[i] = count()
        found.append(i)
    return out


@pytest.mark.parametrize("function", [primes, earlier_items, lengths, by_function])
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_a_loop_reads_the_items_that_a_list_has_so_far(function, n):
    agree(function, n)


def joined_rows(x, n):
    rows = []
    for i in range(n):
        rows.append(x * i)
    return np.concatenate(rows), np.hstack(rows)


def joined_matrices(x, n):
    blocks = []
    for i in range(n):
        blocks.append(np.outer(x, x[1:]) + i)
    return (
        np.concatenate(blocks), np.concatenate(blocks, axis=-1), np.concatenate(blocks, axis=None),
        np.hstack(blocks),
    )  # fmt: skip


def joined_comprehension(x, n):
    return np.concatenate([x + i for i in range(n)]), np.hstack([x[i] for i in range(n)])


def joined_layers(x, n):
    layers = np.zeros((n, len(x), 2)) + x[:, None]
    return np.concatenate(layers), np.concatenate(layers, axis=1), np.hstack(layers)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "function", [joined_rows, joined_matrices, joined_comprehension, joined_layers]
)
def test_the_items_of_a_list_are_joined(function, n):
    agree(function, WAVE[:4], n)
