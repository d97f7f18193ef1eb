"""Numbers that only some paths set: read where they are there, a fault where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import agree, compiled


def crossings(poly):
    inside = False
    for i in range(len(poly)):
        x1, y1 = poly[i - 1]
        x2, y2 = poly[i]
        if min(y1, y2) < 0.1 <= max(y1, y2):
            if y1 != y2:
                x = (0.1 - y1) * (x2 - x1) / (y2 - y1) + x1
            if x1 == x2 or x >= 0.2:
                inside = not inside
    return inside


def two_kinds(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            t = 1
        elif x[i] < -0.5:
            t = 2.5
        if abs(x[i]) > 0.5:
            total += t
    return total


def from_an_earlier_turn(x):
    total = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            t = i
        if x[i] < -0.5:
            t = -i
        if i > 1:
            total += t
    return total


def first_positive(x):
    for i in range(len(x)):
        if x[i] > 0:
            first = x[i]
            break
    return first


WAVE = np.array([0.1, -0.9, 0.7, 0.2, 0.0, 0.9])


@pytest.mark.parametrize("function", [two_kinds, from_an_earlier_turn, first_positive])
def test_equal_to_python(function):
    agree(function, WAVE)


def test_a_polygon():
    agree(crossings, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize("function", [from_an_earlier_turn, first_positive])
def test_no_value_is_a_fault(function):
    program = compiled(function, WAVE)
    with pytest.raises(UnboundLocalError):
        function(np.zeros(3))
    with pytest.raises(PolyoptError) as caught:
        run_program(program, [np.zeros(3)])
    assert caught.value.code == "PO0125"
