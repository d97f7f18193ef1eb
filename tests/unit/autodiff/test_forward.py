"""Tangents: against differences, and against gradients by <w, J v> = <J^T w, v>."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.interp import run_program
from tests.unit.autodiff.differences import STEP, copied, worst
from tests.unit.autodiff.programs import CASES
from tests.unit.autodiff.test_reverse import program


def directions(arguments: tuple[Any, ...], by: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = (np.shape(arguments[which]) for which in by)
    return [rng.uniform(-1.0, 1.0, shape) if shape else 0.75 for shape in shapes]


def interpreted(kernel: Any, *arguments: object) -> Any:
    return run_program(program(kernel, *arguments), list(arguments))


@pytest.mark.parametrize("name", CASES)
def test_tangents_are_those_of_differences(name):
    case = CASES[name]
    given, along = copied(case.arguments), directions(case.arguments, case.by)
    value, tangent = interpreted(po.jvp(case.function, case.by), *given, *along)
    for before, after in zip(case.arguments, given, strict=True):
        np.testing.assert_array_equal(before, after)
    assert worst(value, case.function(*copied(case.arguments))) < 1e-12

    def moved(step: float) -> float:
        changed = copied(case.arguments)
        for which, direction in zip(case.by, along, strict=True):
            changed[which] = changed[which] + step * direction
        return float(case.function(*changed))

    assert worst(tangent, (moved(STEP) - moved(-STEP)) / (2 * STEP)) < 1e-6


@pytest.mark.parametrize("name", CASES)
def test_tangents_agree_with_gradients(name):
    case = CASES[name]
    along = directions(case.arguments, case.by)
    given = (copied(case.arguments) for _ in range(2))
    _, tangent = interpreted(po.jvp(case.function, case.by), *next(given), *along)
    found = interpreted(po.grad(case.function, case.by), *next(given))
    gradients = found if isinstance(found, tuple) else (found,)
    dotted = sum(np.sum(one * other) for one, other in zip(gradients, along, strict=True))
    assert worst(tangent, dotted) < 1e-11
