"""Arrays without dimensions are arrays: an update changes the array that they view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain


def added(total, x):
    for i in range(x.shape[0]):
        total += x[i]


def summed(total, x):
    return np.sum(x, out=total)


def written(total, x):
    total[...] = x.sum()


def emptied(total, x):
    total[()] = x[0]
    again = total[...]
    again -= 2
    return again


def local(total, x):
    found = np.zeros(())
    np.add(x[0], total, out=found)
    return found


def named(total, x):
    first = np.zeros(())
    second = first
    for i in range(x.shape[0]):
        second += x[i]
    return first, second


def dots(total, x):
    v = x[1, ...]
    x[0, ...] += 1
    for i in range(x.shape[0]):
        v += x[i]
    x[1] += 5
    return v * 1


def reshaped(total, x):
    last = x[2:].reshape(())
    last *= 4
    one = np.squeeze(x[:1])
    one -= 1
    total.T[...] += one


def passed(total, x):
    def more(v):
        v += 1
        return v

    more(x[1, ...])
    more(x[1])
    return more(total) * 2


def chosen(total, x):
    s = np.where(x[0] > 0, x[1], x[2])
    t = s
    s += 1
    return t * 1


def rebound(total, x):
    old = total
    for i in range(x.shape[0]):
        total = total + x[i]
    return old * 1, total


def swapped(total, x):
    a, b = x[0, ...], x[1, ...]
    a, b = b, a
    a += 10
    b *= 3


@pytest.mark.parametrize(
    "function",
    [added, summed, written, emptied, local, named, dots, reshaped, passed, chosen, rebound,
     swapped],
)  # fmt: skip
def test_updates_reach_the_array(function: Any) -> None:
    given = np.array(2.0), np.array([3.0, 5.0, 7.0])
    ours = tuple(array.copy() for array in given)
    expected, found = function(*given), po.kernel(function)(*ours)
    assert str(found) == str(expected) or np.array_equal(found, expected)
    for mine, theirs in zip(ours, given, strict=True):
        assert np.array_equal(mine, theirs)


def in_branch(total, x):
    v = x[0, ...]
    if x[1] > 1:
        v = x[1, ...]
    v += 1


def in_loop(total, x):
    for i in range(x.shape[0]):
        total = total + x[i]
        total += 1
    return total


@pytest.mark.parametrize("function", [in_branch, in_loop])
def test_an_update_of_one_of_several_is_refused(function: Any) -> None:
    total, x = np.array(2.0), np.arange(3.0)
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(total, x)
    assert caught.value.code == "PO0160"
    assert total == 2.0
    assert np.array_equal(x, np.arange(3.0))


def of_integers(x):
    x[0, ...] += 1.5


def test_a_cast_that_python_refuses_is_refused() -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(of_integers)(np.arange(3))
    assert caught.value.code == "PO0144"


def copied(total, x):
    total = total + x[0]
    total += x[1]
    return total


def element(total, x):
    found = x[2]
    found += total
    return found


def converted(total, x):
    found = x[0].astype(np.float32)
    other = found
    found += 1
    return other


@pytest.mark.parametrize("function", [copied, element, converted])
def test_numbers_of_their_own_are_changed(function: Any) -> None:
    values = np.array(2.0), np.arange(3.0)
    assert po.kernel(function)(*values) == function(*values)
