"""`raise`: a check of the call where sizes decide, an error after the call where data does."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def of_shapes(a, b):
    if a.shape != b.shape:
        raise ValueError("shapes differ")
    return a + b


def of_sizes(a, n):
    if n < 1:
        raise ValueError("n must be positive")
    elif n > 3:
        return a[:3]
    return a[:n]


def of_elements(a):
    for i in range(a.shape[0]):
        if a[i] < 0:
            raise ValueError(f"element {i}")
    return np.sqrt(a)


def of_the_last_branch(a, kind):
    if kind == 0:
        y = a * 2.0
    elif kind == 1:
        y = a + 1.0
    else:
        raise ValueError("kind")
    return y


def instead_of_a_result(a):
    if a[0] > 0:
        return a * 2.0
    else:
        raise ValueError("first")


def of_a_bound(a):
    if a[0] > 0:
        n = int(a[0])
    else:
        raise ValueError
    total = 0.0
    for i in range(n):
        total += i
    return total


A = np.arange(4.0) + 1.0


@pytest.mark.parametrize(
    ("func", "good", "bad"),
    [
        (of_shapes, [(A, A)], [(A, A[:2])]),
        (of_sizes, [(A, 2), (A, 4)], [(A, 0)]),
        (of_elements, [(A,)], [(-A,)]),
        (of_the_last_branch, [(A, 0), (A, 1)], [(A, 2)]),
        (instead_of_a_result, [(A,)], [(-A,)]),
        (of_a_bound, [(A * 3,)], [(-A,)]),
    ],
)
def test_errors_where_python_raises(func, good, bad):
    kernel = po.kernel(func)
    for arguments in good:
        assert np.array_equal(kernel(*arguments), func(*arguments))
    for arguments in bad:
        with pytest.raises(po.PolyoptError) as caught:
            kernel(*arguments)
        assert caught.value.code in ("PO0177", "PO0203")
