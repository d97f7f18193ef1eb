"""Sums that start in registers: where what a nest stored is set, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.passes.scalar_replacement import replace_in_loops
from polyopt.emit.starts import start_sums
from polyopt.ir.expr import Const
from polyopt.ir.loops import Assign, For, If, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType
from tests.texts import bare
from tests.unit.emit.kernels import (
    F64,
    array,
    at,
    data,
    ex,
    function,
    interpret,
    least,
    loop,
    op,
    plus,
)


def times(a, b):
    return op("*", ex(a), ex(b), DType.INT64)


ZERO = Assign(at("C", "i", "j"), Const(0.0, F64), "S0", at("C", "i", "j").index)
BEGIN = loop("i", 0, "N", loop("j", 0, 8, ZERO))


def update(row="r", column="c"):
    target = at("C", row, column)
    term = op("*", at("A", row, "k"), at("B", "k", column))
    return Assign(target, op("+", target, term), "S1", (*target.index, at("A", row, "k").index[1]))


def product(inside, *, begin=BEGIN):
    """C = A @ B with four terms at a time; `inside` makes the nest of a block of terms."""
    terms = loop("k", times(4, "t"), least("K", plus(times(4, "t"), 4)), update())
    count = op("//", plus("K", 3), ex(4), DType.INT64)
    blocks = loop("t", 0, count, inside(terms))
    arrays = [array("A", "N", "K"), array("B", "K", 8), array("C", "N", 8)]
    return replace_in_loops(function("f", arrays, ("N", "K"), begin, blocks))


def tiles(terms):
    return loop("r", 0, "N", loop("c", 0, 8, terms))


def starts(fn):
    return [n for n in all_nodes(fn.body) if isinstance(n, SetLocal) and n.statement == "S0"]


@pytest.mark.parametrize("terms", [0, 1, 4, 9])
def test_sums_start_at_what_was_stored(terms):
    fn = product(tiles)
    made = start_sums(fn)
    (start,) = starts(made)
    assert start.instance == at("C", "r", "c").index
    before, blocks = made.body
    assert isinstance(before, If)  # the nest runs where there are no terms
    assert before.then == fn.body[:1]
    assert isinstance(blocks, For)
    sizes = {"N": 3, "K": terms}
    arrays = data(fn, sizes)
    for name, value in interpret(fn, arrays, sizes).items():
        np.testing.assert_array_equal(interpret(made, arrays, sizes)[name], value)


def twice(terms):
    """A loop that moves no sum: its second iteration must not start it again."""
    return loop("again", 0, 2, tiles(terms))


def scaled(terms):
    """Another access to the sums."""
    half = Assign(at("C", "r", "c"), op("*", at("C", "r", "c"), Const(0.5, F64)), "S2")
    return loop("r", 0, "N", loop("c", 0, 8, terms, half))


@pytest.mark.parametrize("inside", [twice, scaled])
def test_other_nests_are_left(inside):
    fn = product(inside)
    assert start_sums(fn) is fn


def test_a_loop_that_moves_the_sums_is_not_one_over_blocks_of_terms():
    nest = tiles(loop("k", 0, "K", update()))
    arrays = [array("A", "N", "K"), array("B", "K", 8), array("C", "N", 8)]
    fn = replace_in_loops(function("f", arrays, ("N", "K"), BEGIN, nest))
    assert start_sums(fn) is fn


@pytest.mark.parametrize(
    "begin",
    [
        loop("i", 0, "N", loop("j", 0, 8, replace(ZERO, value=at("A", "i", 0)))),
        loop("i", 0, "N", replace(ZERO, target=at("C", "i", 0), instance=(at("C", "i").index))),
        loop("i", 0, "N", loop("j", 0, 8, replace(ZERO, statement=""))),
    ],
)
def test_other_beginnings_are_left(begin):
    fn = product(tiles, begin=begin)
    assert start_sums(fn) is fn


def plain(C, A, B):
    C[:] = A @ B


def left(C, A, B):
    C[:] = A.T @ B


def right(C, A, B):
    C[:] = A @ B.T


def half(C, A, B):
    C[:] = 0.0
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [plain, left, right])
def test_products_store_their_results_once(function, wide_machine):
    types = (po.f64[:, :], po.f64[:, :], po.f64[:, :])
    source = bare(po.kernel(function).compile(*types).source)
    assert "if (k_tile == 0)" in source


@pytest.mark.toolchain
def test_elements_that_no_sum_starts_keep_their_nest(rng):
    """The proof refuses loops that start only some of the elements."""
    a, b = rng.random((70, 9)), rng.random((9, 70))
    found = np.full((70, 70), 7.0)
    po.kernel(half)(found, a, b)
    np.testing.assert_allclose(found, np.tril(a @ b), rtol=1e-12)
