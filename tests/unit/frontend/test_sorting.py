"""`sorted` of numbers, lists, ranges and vectors."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import agree, compiled


def three(a, n):
    return sorted([a[0], a[1], a[2]])[0], sorted((a[0], -a[1], a[2]), reverse=True)[1]


def integers(a, n):
    low, middle, high = sorted([n, 3, 1])
    return low + 2 * middle + 4 * high


def appended(a, n):
    items = [n, -n]
    items.append(1)
    return sorted(items)[0]


def vector(a, n):
    total = 0.0
    for x in sorted(a):
        total = total * 2 + x
    return total, sorted(a, reverse=True)[0]


def chosen(a, n):
    return len(sorted([x for x in a if x > 1])), sorted([q * q % 5 for q in range(n + 1)])[0]


def ranges(a, n):
    return sorted(range(n, -3, -2))[0], sum(sorted(range(n)))


def zeros(a, n):
    return np.array(sorted([a[0] * 0.0, -0.0, a[1] - a[1], a[2] * -0.0]))


PROGRAMS = [three, integers, appended, vector, chosen, ranges, zeros]
ARRAYS = [[3.0, 1.0, 2.0], [1.0, 1.0, -1.0], [-0.0, 0.0, -np.inf, 5.0]]


@pytest.mark.parametrize("n", [0, 2, 5])
@pytest.mark.parametrize("items", ARRAYS, ids=range(3))
@pytest.mark.parametrize("func", PROGRAMS)
def test_equal_to_python(func, items, n):
    if func is zeros:
        items = [x for x in items if abs(x) < np.inf]
    agree(func, np.array(items), n)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_element_types(dtype):
    agree(three, np.array([3, 1, 2], dtype), 0)


@pytest.mark.parametrize("func", [three, vector])
def test_nan_has_no_place(func):
    values = np.array([1.0, np.nan, 2.0]), 0
    with pytest.raises(PolyoptError, match="PO0147"):
        run_program(compiled(func, *values), values)


def by_key(a):
    return sorted(a, key=abs)[0]


def of_complex(a, z):
    return sorted([z, 1j])[0]


def test_refused():
    with pytest.raises(PolyoptError, match="PO0151"):
        compiled(by_key, np.ones(3))
    with pytest.raises(PolyoptError, match="PO0146"):
        compiled(of_complex, np.ones(3), 1j)
