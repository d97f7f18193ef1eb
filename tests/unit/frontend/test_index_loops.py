"""Loops over all indices: `np.ndindex`, `np.ndenumerate`."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError
from polyopt.frontend import build
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import compiled, type_of


def of_shape(a):
    total = 0.0
    for i, j in np.ndindex(a.shape):
        total += a[i, j] * (i + 2 * j)
    return total


def starred(a):
    b = np.zeros(a.shape)
    for i, j in np.ndindex(*a.shape):
        if a[i, j] < 2.0:
            continue
        b[i, j] = a[i, j] + i
    return b


def of_numbers(a):
    found = np.zeros((3, a.shape[1]))
    for i, j in np.ndindex(3, a.shape[1]):
        found[i, j] = i - j
    return found


def of_a_tuple(a):
    total = 0.0
    for (k,) in np.ndindex((a.shape[0],)):
        total += k
    return total


def one_name(a):
    total = 0.0
    for at in np.ndindex(a.shape[0], a.shape[1]):
        total += a[at] * at[1]
    return total


def rebound(a):
    total = 0.0
    b = a
    for i, _j in np.ndindex(b.shape):
        total += b[i, 0]
        b = b + 1.0
    return total


def leaving(a):
    for i, j in np.ndindex(a.shape):
        if a[i, j] > 3.0:
            return i, j
    return -1, -1


def enumerated(a):
    total = 0.0
    for (i, j), x in np.ndenumerate(a):
        total += x * i - j
        a[i, j] = 0.0
    return total


def of_an_expression(a):
    total = 0.0
    for (i, _), x in np.ndenumerate(a * 2.0):
        total += x + i
    return total


def twice(a):
    total = 0.0
    for i, j in np.ndindex(a.shape):
        for k, m in np.ndindex(a.shape):
            total += a[i, j] * (k + m)
    return total


def inside(a):
    def summed(x):
        total = 0.0
        for i, j in np.ndindex(x.shape):
            total += x[i, j] * j
        return total

    return summed(a) + summed(2.0 * a)


PROGRAMS = [of_shape, starred, of_numbers, of_a_tuple, one_name, rebound, leaving, enumerated,
            of_an_expression, twice, inside]  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("function", PROGRAMS)
def test_they_visit_what_numpy_does(function, shape) -> None:
    if function is rebound and 0 in shape:
        pytest.skip("reads what is not there")
    a = np.arange(float(np.prod(shape))).reshape(shape)
    mine, other = a.copy(), a.copy()
    program = compiled(function, mine)
    np.testing.assert_array_equal(run_program(program, (mine,)), function(other))
    np.testing.assert_array_equal(mine, other)


def read_after(a):
    i = j = 0
    for i, j in np.ndindex(a.shape):
        a[i, j] = 0.0
    return i + j


def left(a):
    for i, j in np.ndindex(a.shape):
        if a[i, j] > 0.0:
            break
        a[i, j] = 1.0


def unnamed(a):
    for at in np.ndindex(a.shape):
        a[at] = 1.0


@pytest.mark.parametrize("function", [read_after, left, unnamed])
def test_other_loops_are_refused(function) -> None:
    with pytest.raises(FrontendError) as caught:
        build(function, (type_of(np.zeros((2, 3))),))
    assert caught.value.code == "PO0150"
    assert "for i, j in np.ndindex(a.shape)" in str(caught.value.hint)


def test_as_many_names_as_dimensions() -> None:
    with pytest.raises(FrontendError) as caught:
        build(of_shape, (type_of(np.zeros((2, 3, 4))),))
    assert caught.value.code == "PO0127"


@pytest.mark.toolchain
def test_their_loops_are_scheduled_like_others() -> None:
    kernel = po.kernel(starred).compile(po.f64["N,M"])
    assert "parallelize" in kernel.schedule_text
    a = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(kernel(a), starred(a))
