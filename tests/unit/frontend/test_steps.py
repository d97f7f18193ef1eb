"""Steps, bounds and slices found while the kernel runs; arrays taken apart and put together."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import agree, compiled


def ranges(a, s):
    total = 0.0
    for i in range(len(s)):
        for j in range(len(a) - 1 if s[i] < 0 else 0, -1 if s[i] < 0 else len(a), s[i]):
            total = total / 2 + a[j] * (i + 1)
    return total


def last_of_range(s, n):
    last = -1
    for i in range(1, len(s), s[n]):
        last = i
    for j in range(3, len(s) + 5, s[n]):
        last += j
    return last, j


def slices(a, s):
    for i in range(len(s)):
        a[s[i] :: s[i] + 1] = i
    return a[:: s[0]].sum()


def a_view(a, s):
    v = a[1 :: s[0]]
    a[:] = a * 2
    v[:] = v + 1
    return v * 1


def overlapping(a, s):
    n = s[0]
    a[::n] = a[n - 1 :: n] + a[::n]
    return a[-n:], a[:-n], a[n:-n]


def clipped(a, s):
    return a[s[0] : s[1]] * 1, a[s[0] : s[1] : -1] * 1, a[s[0] : s[1] : 2] * 1


def sieve(flags):
    flags[:2] = False
    for p in range(2, len(flags)):
        if flags[p]:
            flags[p * p :: p] = False


def slice_objects(a, rows):
    inner, every = slice(1, -1), slice(None)
    b = a.copy()
    b[inner, inner] = a[inner, every][every, 2:] + a[slice(None, None, -1), inner][:-2]
    part = slice(rows[0], rows[1])
    return b, a[part].sum(axis=0)


def taken_apart(p):
    x, y, z = p
    (r, s), t = p[:2, 0], p[0]
    x[0] = 5.0
    return x + y * z + r * s + t


def put_together(a):
    return np.array([a[0], a[1] * 2, a.sum(axis=0)]), np.array([[a, a + 1], [a, -a]])


def made_by_class(n):
    found = np.ndarray((n, 2), dtype=np.float32)
    found[:] = 1
    return found


A = np.arange(12.0)
GRID = np.arange(20.0).reshape(4, 5)


def ints(*values):
    return np.array(values, dtype=np.int64)


CASES = [
    *((ranges, A[:n], ints(1, 3, -2)) for n in (0, 1, 9)),
    (last_of_range, ints(1, 2, 3, 4, 5), 1),
    (last_of_range, ints(9, 2, 3, 4, 5), 0),
    *((slices, A[:10], s) for s in (ints(1, 3, 2), ints(-3, 3), ints(-5), ints(-2, 0))),
    *((a_view, A[:n], ints(s)) for n, s in ((10, 3), (10, -1), (1, 2))),
    *((overlapping, A, ints(n)) for n in (1, 2, 3)),
    *((clipped, A, ints(i, j)) for i, j in ((3, -2), (-40, 40), (40, -40), (-1, -4), (5, 2))),
    (clipped, A[:0], ints(-1, 1)),
    *((sieve, np.ones(n, bool)) for n in (0, 3, 60)),
    (slice_objects, GRID, ints(1, 3)),
    (slice_objects, GRID[:2, :2], ints(-1, 9)),
    (taken_apart, GRID[:3]),
    (put_together, GRID[:2]),
    (put_together, np.zeros((3, 0))),
    (made_by_class, 3),
]


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case[0].__name__}-{n}" for n, case in enumerate(CASES)]
)
def test_equal_to_python(case):
    function, *arguments = case
    agree(function, *arguments)


@pytest.mark.parametrize(
    "function, code", [(ranges, "PO0132"), (slices, "PO0132")], ids=["range", "slice"]
)
def test_a_step_of_zero_is_a_fault(function, code):
    with pytest.raises(PolyoptError) as caught:
        run_program(compiled(function, A, ints(0)), [A.copy(), ints(0)])
    assert caught.value.code == code


def test_an_array_of_another_length_cannot_be_taken_apart():
    with pytest.raises(PolyoptError, match=r"expected \(3, 5\)"):
        run_program(compiled(taken_apart, GRID), [GRID.copy()])
