"""Conditions of the source that keep a subscript inside: what they say is not checked again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program
from tests.unit.frontend.test_repeated_checks import checks


def histogram(x, h):
    for i in range(len(x)):
        k = int(2.0 * x[i])
        if k >= 0 and k < h.shape[0]:
            h[k] += 1


def chained(k, h):
    for i in range(len(k)):
        if 0 <= k[i] < len(h):
            h[k[i]] += 1


def skipped(k, h):
    for i in range(len(k)):
        if k[i] < 0 or len(h) <= k[i]:
            continue
        h[k[i]] += 1


def read(k, h):
    found = np.zeros(len(k))
    for i in range(len(k)):
        if k[i] > -1 and k[i] <= len(h) - 1:
            found[i] = h[k[i]]
    return found


def below(k, h):
    for i in range(len(k)):
        if k[i] < len(h):
            h[k[i]] += 1


def above(k, h):
    for i in range(len(k)):
        if k[i] >= 0:
            h[k[i]] += 1


def too_far(k, h):
    for i in range(len(k)):
        if k[i] >= 0 and k[i] <= len(h):
            h[k[i]] += 1


def first(k, h):
    """The one element that the condition allows is there only if any is."""
    for i in range(len(k)):
        if k[i] >= 0 and k[i] <= 0:
            h[k[i]] += 1


def either(k, h):
    for i in range(len(k)):
        if k[i] >= 0 or k[i] < len(h):
            h[k[i]] += 1


def moved(k, h):
    """What the condition says was said of the value before."""
    for i in range(len(k)):
        j = k[i]
        if j >= 0 and j < len(h):
            j = j + 2
            h[j] += 1


def other(k, h):
    for i in range(len(k)):
        if k[i] >= 0 and k[i] < len(k):
            h[k[i]] += 1


KEPT = (below, above, too_far, first, either, moved, other)
SUBSCRIPTS = ([0, 1, 2], [4, 0], [-1, -4, -5, 9], [-9], [])


def beside(k, h):
    found = np.zeros(len(k))
    for i in range(len(k)):
        if 0 <= k[i] < len(h) - 1:
            found[i] = h[k[i] + 1] - h[k[i]]
    return found


@pytest.mark.parametrize("func", [chained, skipped, read, beside])
@pytest.mark.parametrize("k", SUBSCRIPTS)
@pytest.mark.parametrize("extent", [0, 4])
def test_no_check_is_left(func: Callable[..., object], k: list[int], extent: int) -> None:
    program = agree(func, np.array(k, np.int64), np.arange(extent))
    assert checks(program) == []


def test_numbers_that_are_rounded() -> None:
    x = np.array([-0.4, 0.0, 0.7, 3.2, 1.5, -2.0])
    found = checks(agree(histogram, x, np.zeros(4, np.int64)))
    assert len(found) == 1  # that the number is an integer of 64 bits


@pytest.mark.parametrize("func", KEPT)
@pytest.mark.parametrize("k", SUBSCRIPTS)
@pytest.mark.parametrize("extent", [0, 4])
def test_what_they_do_not_say_is_checked(
    func: Callable[..., object], k: list[int], extent: int
) -> None:
    args = (np.array(k, np.int64), np.arange(extent))
    assert checks(compiled(func, *args)) != []
    try:
        func(*(arg.copy() for arg in args))
    except IndexError:
        with pytest.raises(PolyoptError) as caught:
            run_program(compiled(func, *args), tuple(arg.copy() for arg in args))
        assert caught.value.code == "PO0231"
    else:
        agree(func, *args)
