"""Branches that a call decides: sizes that agree only where a condition holds."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain


def product_or_nothing(a, b):
    if a.shape[0] == b.shape[0]:
        return (a * b).sum()
    return -1.0


def refused_first(a, b):
    if a.shape[0] != b.shape[0]:
        return -1.0
    return (a * b).sum()


def start_or_all(a):
    if a.shape[0] > 4:  # noqa: SIM108
        c = a[:4]
    else:
        c = a * 2.0
    return c


def pairs(a):
    n = a.shape[0]
    if n % 2:
        a = a[:-1]
    return a[::2] + a[1::2]


def gram(a):
    n, m = a.shape
    if n >= m:  # noqa: SIM108
        found = a.T @ a
    else:
        found = a @ a.T
    return found * np.trace(found)


def by_number(a, b, n):
    if n == b.shape[0]:
        return a[:n] + b
    return a + b


def by_product(a, n):
    if n * a.shape[0] > 10:
        return a[:2]
    return a * 2.0


def by_flag(a, turned):
    if turned:
        a = a.T
    return a * 2.0


def in_a_loop(a, y):
    total = np.zeros((a.shape[0], y.shape[1]))
    for k in range(3):
        t = a + k * np.eye(a.shape[0])
        if y.shape[1] == a.shape[0]:  # noqa: SIM108
            x = t * 0.5
        else:
            x = t @ y
        total += x
    return total


def conditional(a, b):
    return a @ b if a.shape[0] == b.shape[0] else a.sum()


def nested(a, b):
    if a.shape[0] > 2:
        if a.shape[0] == b.shape[0]:
            return a + b
        return b[:2]
    return a


def with_a_constant(a, b, axis):
    if a.shape[0] != b.shape[0]:
        return a
    return (a + b).cumsum(axis=axis)


def of(*shape):
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


CALLS = [
    (product_or_nothing, [(of(5), of(5)), (of(5), of(6)), (of(1), of(3)), (of(0), of(0))]),
    (refused_first, [(of(5), of(6)), (of(5), of(5))]),
    (start_or_all, [(of(3),), (of(7),), (of(4),), (of(0),)]),
    (pairs, [(of(8),), (of(7),), (of(0),), (of(1),)]),
    (gram, [(of(5, 3),), (of(3, 5),), (of(4, 4),)]),
    (by_number, [(of(5), of(3), 3), (of(5), of(5), 3), (of(3), of(3), 3)]),
    (by_product, [(of(5), 1), (of(5), 3), (of(0), 9)]),
    (by_flag, [(of(3, 4), True), (of(3, 4), False)]),
    (in_a_loop, [(of(2, 2), of(2, 3)), (of(3, 3), of(3, 3))]),
    (conditional, [(of(5), of(5)), (of(5), of(4))]),
    (with_a_constant, [(of(3, 3), of(2, 3), 0), (of(3, 3), of(3, 3), 1)]),
    (nested, [(of(5), of(5)), (of(5), of(4)), (of(2), of(7))]),
]


@pytest.mark.parametrize(("func", "calls"), CALLS, ids=[func.__name__ for func, _ in CALLS])
def test_each_call_takes_its_branch(func, calls):
    kernel = po.kernel(func, schedule="source")
    for arguments in (*calls, *calls):
        got, want = kernel(*arguments), func(*arguments)
        assert np.shape(got) == np.shape(want)
        assert np.allclose(got, want, rtol=1e-13)


def test_the_condition_is_a_check_of_the_call():
    compiled = po.kernel(product_or_nothing).compile(of(5), of(6))
    assert compiled(of(3), of(4)) == -1.0
    with pytest.raises(po.PolyoptError, match="compiled for calls where"):
        compiled(of(3), of(3))


def test_what_fits_no_branch_is_refused_as_before():
    def mixed(a, b):
        if a.shape[0] > 3:
            return a + b
        return a - b

    kernel = po.kernel(mixed)
    assert np.array_equal(kernel(of(5), of(5)), of(5) * 2)
    with pytest.raises(po.PolyoptError, match="must be 5"):
        kernel(of(5), of(6))


def test_what_is_refused_in_a_branch_not_taken_is_no_matter():
    def guarded(a):
        if a.shape[0] == 0:
            with open("x"):
                pass
        return a[0]

    kernel = po.kernel(guarded)
    assert kernel(of(3)) == 1.0
    with pytest.raises(po.PolyoptError, match="`with`"):
        kernel(of(0))


def test_what_the_kernel_finds_is_not_known_by_the_call():
    def program(a, c):
        if len(a) >= 0 or np.any(c):
            a[0], a[1] = 2 % len(c)

    with pytest.raises(FrontendError, match="PO0127"):
        po.kernel(program)(np.ones(2), np.ones(1))


def shortest_paths(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def test_a_call_decides_whether_slices_in_loops_are_clipped():
    kernel = po.kernel(shortest_paths)
    for shape in ((7, 7), (3, 9), (1, 1), (0, 0)):
        d = np.random.default_rng(0).random(shape)
        assert np.array_equal(kernel(d), shortest_paths(d))
    with pytest.raises(po.ArgumentError, match="must be equal"):  # as in Python
        kernel(np.ones((9, 3)))
