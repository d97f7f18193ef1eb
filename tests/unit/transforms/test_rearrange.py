"""Rearrange: a copy in another layout for as long as a nest runs."""

from __future__ import annotations

import pytest

from polyopt.transforms import Dimension, Interchange, Rearrange, Skew, Vectorize, parse_steps
from polyopt.transforms.layout import Part
from tests import scops
from tests.checks import assert_computes, assert_round_trip
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

TRANSPOSED = (Dimension(1), Dimension(0))
SKEWED = (Dimension(1, Part.SKEWED, 2, 0), Dimension(0))


@pytest.mark.parametrize("layout", [TRANSPOSED, SKEWED])
def test_an_array_that_is_written_in_place(layout):
    schedule = assert_computes(scops.seidel(), Rearrange("A", "L0", layout))
    names = [s.name for s in schedule.scop.statements]
    assert names[0] == "A_in"
    assert names[-1] == "A_out"


def test_read_only():
    schedule = assert_computes(scops.gemm(), Rearrange("A", "L0", TRANSPOSED))
    assert [s.name for s in schedule.scop.statements if "out" in s.name] == []


def test_one_nest_of_several():
    assert_computes(data_programs.blur(), Rearrange("A", "L0", TRANSPOSED))
    assert_computes(scops.jacobi(), Rearrange("A", "L1", SKEWED), Rearrange("B", "L2", SKEWED))


def test_other_steps_follow():
    """Rows of a sweep, one column behind each other, run side by side."""
    lanes = (Skew("L0[1]", "L0[0]", 1), Interchange("L0[0]", "L0[1]"), Vectorize("L0[1]"))
    diagonal = (Dimension(1, Part.SKEWED, 1, 0), Dimension(0))
    assert_computes(scops.seidel(), Rearrange("A", "L0", diagonal), *lanes)


def test_round_trip():
    step = Rearrange("A", "L0", SKEWED)
    assert str(step) == "rearrange(A, L0, 1+2*0, 0)"
    assert_round_trip(step)
    assert parse_steps("rearrange(A, L0, 1 + 2*0, 0)") == (step,)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (Rearrange("A", "L0", (Dimension(0),)), "PO0335"),
        (Rearrange("A", "L9", TRANSPOSED), "PO0301"),
        (Rearrange("B", "L0", TRANSPOSED), "PO0331"),
    ],
)
def test_refused(step, code):
    assert refused(scops.seidel(), step)[0] == code
