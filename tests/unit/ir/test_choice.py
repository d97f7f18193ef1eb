"""Extrema that are written as choices: which are free in their order, and what they compute."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Load, Select, Symbol, integer
from polyopt.ir.extremum import chosen
from polyopt.ir.types import DType
from tests.texts import bare

# ruff: noqa: F821, UP037 - sizes are named by strings

F64 = DType.FLOAT64
TOP, FRESH = Symbol("top", F64), Load("x", (integer(0),), F64)


def choice(op, left, right, then=FRESH, otherwise=TOP):
    return Select(Compare(op, left, right), then, otherwise, F64)


FREE = [
    (choice(CompareOp.GT, FRESH, TOP), BinaryOp.MAX),
    (choice(CompareOp.LE, TOP, FRESH), BinaryOp.MAX),
    (choice(CompareOp.LT, FRESH, TOP), BinaryOp.MIN),
    (choice(CompareOp.GE, TOP, FRESH), BinaryOp.MIN),
]
OTHER = [
    choice(CompareOp.NE, FRESH, TOP),
    choice(CompareOp.GT, FRESH, FRESH),
    choice(CompareOp.GT, TOP, FRESH, TOP, FRESH),  # what follows a NaN is taken
    choice(CompareOp.GT, FRESH, TOP, Binary(BinaryOp.ADD, FRESH, TOP, F64)),
    Binary(BinaryOp.MAX, TOP, FRESH, F64),
]


@pytest.mark.parametrize(("value", "op"), FREE)
def test_free_choices(value, op):
    assert chosen(value, TOP) is op


@pytest.mark.parametrize("value", OTHER)
def test_other_choices(value):
    assert chosen(value, TOP) is None


def test_no_order_of_the_elements_makes_a_difference_to_a_free_choice():
    for start in (np.nan, -np.inf, 0.5):
        for count in (1, 3):
            found = set()
            for order in permutations([np.nan] * count + [-np.inf, 0.25, 3.0]):
                top = start
                for x in order:
                    top = x if x > top else top
                found.add(repr(top))
            assert len(found) == 1


def largest(x: po.f32[N, M], out: po.f32["N"], least: po.f32["N"]):
    for i in range(x.shape[0]):
        top = x[i, 0]
        low = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
            low = x[i, j] if x[i, j] <= low else low
        out[i] = top
        least[i] = low


@pytest.mark.toolchain
@pytest.mark.parametrize("columns", [1, 2, 17, 100])
def test_rows_have_lanes_where_the_order_is_open(columns):
    fast = po.kernel(fp="reassociate", threads=1)(largest)
    strict = po.kernel(threads=1)(largest)
    x = np.random.default_rng(columns).standard_normal((40, columns)).astype(np.float32)
    x[1] = np.nan
    x[2, 0] = np.nan
    x[3, -1] = np.nan
    x[4, columns // 2] = -np.inf
    x[5] = -np.inf
    found = [np.zeros((2, 40), np.float32) for _ in range(3)]
    fast(x, *found[0])
    strict(x, *found[1])
    largest(x, *found[2])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])
    assert "reduction(max : top_1)" in bare(fast.compile(x, *found[0]).source)
