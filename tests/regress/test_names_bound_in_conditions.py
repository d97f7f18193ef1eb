"""Names that a condition binds: by a `while` at every turn, by an operand only where it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain


def counted(x, n):
    while (k := n - 1) > 0:
        n = k
        if n == 3:
            break
    return n, k


def known_at_first(x, n):
    k = 10
    while (k := k - 1) > n:
        x[k % 8] += k
    return k


def left_out(x, n):
    v = 5.0
    if n > 3 and (v := x[0]) > 3:
        return 1.0
    return v


def alternative(x, n):
    v = 5.0
    if n > 3 or (v := x[2]) > 1:
        v += 1
    return v


def of_a_side(x, n):
    v = 5.0
    y = (v := x[1]) if n > 3 else 2.0
    return v, y


def in_a_loop(x, n):
    c = 0
    for i in range(8):
        if x[i] > n and (c := i * 2) > 4:
            x[i] = c
        x[0] = c
    return c


def bound_there_first(x, n):
    i = 0
    while i < 7 and (v := x[i]) < n:
        i += 1
    return v, i


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(
    "function",
    [counted, known_at_first, left_out, alternative, of_a_side, in_a_loop, bound_there_first],
)
def test_names_have_the_value_that_was_bound(function: Any, n: int) -> None:
    given = np.arange(8.0)
    ours = given.copy()
    assert po.kernel(function)(ours, n) == function(given, n)
    assert np.array_equal(ours, given)


def unread(x, n):
    if n > 3 and (v := x[0]) < 3:
        return 1.0
    return v


def test_a_name_that_nothing_bound_is_a_fault() -> None:
    kernel = po.kernel(unread)
    assert kernel(np.arange(8.0), 4) == 1.0
    with pytest.raises(po.PolyoptError) as caught:
        kernel(np.arange(8.0), 2)
    assert caught.value.code == "PO0125"


def of_an_array(x, n):
    y = x
    if n > 3 and (y := x * 2).sum() > 3:
        return y
    return y * 3


def chained(x, n):
    v = 5
    y = 0 > n > (v := 6)
    return v, y


@pytest.mark.parametrize(("function", "code"), [(of_an_array, "PO0160"), (chained, "PO0127")])
def test_what_has_no_one_value_is_refused(function: Any, code: str) -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(np.arange(8.0), 2)
    assert caught.value.code == code


def picked(x, n):
    v = x[0, ...] if x[2] > 2 else x[1, ...]
    v += 5


def test_one_of_two_arrays_without_dimensions_is_not_written() -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(picked)(np.arange(8.0), 2)
    assert caught.value.code == "PO0160"
