"""Names keep the type and the value of each number they hold, whatever loops and branches do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.frontend.harness import agree

X = np.array([1.5, 2.0, 3.0, 3.0])


def for_after_for(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    for _ in range(n):
        s += 1
    return s


def while_after_while(x, n: int):
    s = 0
    k = 0
    while k < n:
        s += x[k]
        k += 1
    k = 0
    while k < n:
        s += 1
        k += 1
    return s


def branch_after_for(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    if x[0] != 0:
        s = s + 1
    return s


def for_after_branch(x, n: int):
    s = 1
    if x[0] != 0:
        s = x[1]
    for _ in range(n):
        s = s * 2
    return s


def loop_in_loop(x, n: int):
    s = 0
    t = 0
    for i in range(n):
        for _ in range(2):
            t += s
        s = s + x[i]
    return s, t


def early_result(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    for i in range(n):
        if x[i] == 3:
            return s
        s += 1
    return s


def _added(s, n: int):
    for _ in range(n):
        s += 1
    return s


def in_a_helper(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    return _added(s, n), _added(0, n)


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize(
    "program",
    [for_after_for, while_after_while, branch_after_for, for_after_branch, loop_in_loop,
     early_result, in_a_helper],
)  # fmt: skip
def test_a_number_stays_as_wide_as_an_earlier_loop_made_it(
    program: Callable[..., Any], kind: str
) -> None:
    agree(program, X.astype(kind) * (1 + 2j if kind.startswith("c") else 1), 4)


def test_arrays_stay_as_wide_as_an_earlier_loop_made_them() -> None:
    def program(x, n: int):
        a = np.zeros(4, np.int64)
        for _ in range(n):
            a = a + x
        for _ in range(n):
            a = a + 1
        return a

    agree(program, X, 3)


def test_a_growing_list_is_as_wide_as_the_items_it_starts_with() -> None:
    def program(x, n: int):
        items = [0.5]
        for i in range(n):
            if x[i] != 2:
                items.append(i)
        return np.array(items)

    agree(program, X, 4)


def test_branches_keep_the_sign_of_zero() -> None:
    def program(x):
        if x[0] > 0:  # noqa: SIM108  the statement is what is tested
            s = 0.0
        else:
            s = -0.0
        return np.copysign(1.0, s)

    agree(program, X)
    agree(program, -X)
