"""Python lists that live in memory: filled, indexed, joined, cut, widened."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import agree, compiled


def joined(x):
    y = [v * 2 for v in x]
    z = []
    for v in x:
        z.append(v)
    return np.array(y + z), np.array(y * 2), np.array(2 * z)


def coin_change(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for c in coins:
        for v in range(c, amount + 1):
            ways[v] += ways[v - c]
    return ways[amount]


def pascal(n):
    rows = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        rows[i][0] = 1
        for j in range(1, i + 1):
            rows[i][j] = rows[i - 1][j - 1] + rows[i - 1][j]
    return rows[n][n // 2], sum(rows[n])


def letters(text):
    counts = [0] * 5
    for c in text:
        counts[c] += 1
    return max(counts), counts[3], len(counts)


def rows_in_turn(n):
    previous = [1] * (n + 1)
    for _ in range(n):
        current = [1] * (n + 1)
        for j in range(1, n + 1):
            current[j] = previous[j] + current[j - 1]
        previous = current
    return previous[n]


def widened(x):
    y = [0] * len(x)
    z = [1 for _ in x]
    for i in range(len(x)):
        y[i] = x[i]
    z[0] = 2.5
    return np.array(y), np.array(z)


def cut(x):
    y = [v + 0 for v in x]
    z = y[1:]
    z[0] = 7.0
    w = np.asarray(y)
    y[0] = 8.0
    return np.array(y), np.array(z), y[0] + z[1], w * 2, np.exp(y), x + y


X = np.linspace(-1, 1, 5)


@pytest.mark.parametrize(
    "case",
    [
        (joined, X),
        (joined, X[:1]),
        (coin_change, np.array([2, 3, 5]), 7),
        (coin_change, np.array([1]), 0),
        *((pascal, n) for n in (0, 1, 5)),
        (letters, np.array([0, 4, 3, 3])),
        (letters, np.array([], dtype=np.int64)),
        *((rows_in_turn, n) for n in (0, 4)),
        (widened, X),
        (widened, X[:1]),
        (cut, X),
    ],
    ids=lambda case: case[0].__name__,
)
def test_equal_to_python(case):
    function, *arguments = case
    agree(function, *arguments)


def compares(x):
    y = [v + 0 for v in x]
    return y == [1.0]


def extends(x):
    y = [v + 0 for v in x]
    y += [1.0]
    return np.array(y)


def replaces_a_slice(x):
    y = [v + 0 for v in x]
    y[1:] = x
    return np.array(y)


def negates(x):
    y = [v + 0 for v in x]
    return -y


@pytest.mark.parametrize("function", [compares, extends, replaces_a_slice, negates])
def test_what_an_array_would_do_otherwise_is_refused(function):
    with pytest.raises(PolyoptError) as caught:
        compiled(function, X)
    assert caught.value.code == "PO0124"


def of_an_array(x):
    y = list(x)
    y.append(2.0)
    z = x.tolist()
    z[0] = 9.0
    total = 0.0
    for v in z:
        total += v
    return np.array(y), len(y), np.array(y + z), total


@pytest.mark.parametrize("size", [1, 5])
def test_lists_of_arrays_elements(size):
    agree(of_an_array, X[:size])


def returned_at_once(x):
    if x[0] > 100:
        return [v + 1 for v in x]
    return [v * 2 for v in x]


def returned_beside(x):
    return [v if v > 0 else -v for v in x], (x[0], [2 * i for i in range(len(x))])


def stored(x):
    y = np.zeros(len(x))
    y[:] = [v * 2 for v in x]
    y[1:] = [v + 1 for v in y[:-1]]
    return y, x + [v // 2 for v in x]


@pytest.mark.parametrize("function", [returned_at_once, returned_beside, stored])
@pytest.mark.parametrize("size", [1, 5])
def test_lists_without_a_name(function, size):
    """They are returned as arrays, as lists with a name are."""
    x = X[:size]
    expected = function(x.copy())
    found = run_program(compiled(function, x), [x.copy()])
    for one, other in zip(_leaves(found), _leaves(expected), strict=True):
        assert np.array_equal(one, other)


def _leaves(value):
    is_nested = isinstance(value, tuple)
    return [leaf for item in value for leaf in _leaves(item)] if is_nested else [np.asarray(value)]


def test_lists_without_a_name_are_joined_as_arrays():
    """NumPy would add and multiply where Python joins and repeats."""

    def joined(x):
        return [v + 1 for v in x] + [v * 2 for v in x]

    with pytest.raises(PolyoptError, match="a length that the call decides") as caught:
        compiled(joined, X)
    assert caught.value.code == "PO0124"
    assert "np.concatenate" in caught.value.hint
