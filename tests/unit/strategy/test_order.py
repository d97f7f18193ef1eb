"""Loops in the order of the dimensions that arrays are walked along."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.schedule import source_schedule
from polyopt.strategy.order import by_dimensions, contiguous_innermost
from polyopt.transforms import parse_steps
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
PERMUTABLE = "affine(min)"


def batches(x: po.f32["N,H,W,C"], out: po.f32["N,H,W,C"]):
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = 2.0 * x[:, i, j, :]


def turned(x: po.f32["N,M,C"], out: po.f32["M,N,C"]):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[i, j, c] = x[j, i, c]


def in_order(x: po.f32["N,M,C"], out: po.f32["N,M,C"]):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[i, j, c] = x[i, j, c]


def start(function):
    return source_schedule(program_of(function).scop).apply(*parse_steps(PERMUTABLE))


def test_the_farthest_dimension_goes_outermost():
    moved = contiguous_innermost(start(batches))
    text = str(moved)
    assert text.index("for k") < text.index("for i") < text.index("for j") < text.index("for l")


@pytest.mark.parametrize("function", [turned, in_order])
def test_no_order_is_better(function):
    """Arrays that are walked in two orders keep the program's, as do those in order."""
    assert by_dimensions(start(function), "L0") == []
