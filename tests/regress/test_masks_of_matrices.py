"""Reductions of what a mask of several dimensions picks, whose first element is read alone."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def least_picked(d):
    return d[d > 0.5].min()


def least_above_the_diagonal(d):
    return d[np.triu_indices(d.shape[0], 1)].min()


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [least_picked, least_above_the_diagonal])
def test_least_of_the_picked(function):
    d = np.random.default_rng(0).random((5, 5))
    assert po.kernel(function)(d) == function(d)
