"""Gradients of programs of many kinds, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from tests.unit.autodiff.differences import copied, differences, worst
from tests.unit.autodiff.programs import CASES


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name):
    case = CASES[name]
    before = copied(case.arguments)
    found = po.grad(case.function, case.by)(*case.arguments)
    for old, now in zip(before, case.arguments, strict=True):
        np.testing.assert_array_equal(old, now)
    for which, gradient in zip(case.by, found, strict=True):
        wanted = differences(case.function, case.arguments, which)
        assert worst(gradient, wanted) < 1e-6, which
