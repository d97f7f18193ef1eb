"""`and` and `or` of reductions: each is computed once, wherever Python computes it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.unit.frontend.harness import agree

ZEROS, ONES = np.zeros(2), np.ones(2)


def sums(a, c):
    return a.sum() or c.sum() or a.max()


def sum_and_maximum(a, c):
    return (a.sum() or c.sum()) and c.max()


def in_place(a, c):
    a[0] *= np.count_nonzero(a) or 4
    c[1] -= c.sum() and 3


@pytest.mark.parametrize("program", [sums, sum_and_maximum, in_place], ids=lambda p: p.__name__)
@pytest.mark.parametrize("a, c", list(itertools.product([ZEROS, ONES], repeat=2)))
def test_reductions(program, a, c) -> None:
    agree(program, a.copy(), c.copy())
