"""Nests that read a panel or the operand itself: printed once, and when they are not."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.dataclass import replace
from polyopt.emit import emit_c
from polyopt.emit.banner import BUILT, Edition
from polyopt.emit.passes.packing import pack_operands
from polyopt.emit.redirection import redirected
from polyopt.ir.expr import Compare, CompareOp, Const, Load
from polyopt.ir.loops import Assign, If, LoopKind
from polyopt.ir.nodes import changed
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.oracle.text import read_unit, run_text
from tests.unit.emit.kernels import array, assert_same, at, data, ex, function, interpret, loop, op
from tests.unit.emit.test_packing import product

SMALL = Machine(l1=1 << 10, l2=8 * 48 * 90)
"""A processor on which nine tiles of rows pay for a panel of six by eight elements."""


def packed():
    """Return tiles of rows that read a panel, or the operand where they are few."""
    return pack_operands(product(tiles="N"), SMALL)


@pytest.mark.parametrize("edition", [BUILT, Edition(True)])
def test_nests_are_printed_once(edition):
    text = emit_c(packed(), edition).text
    assert text.count("B_from") == 3  # its declaration, the tiles, the row that is left over
    assert text.count("for (int64_t t = 0") == 1


@pytest.mark.toolchain
@pytest.mark.parametrize("tiles", [0, 1, 2])
def test_what_is_read_is_the_same(tiles):
    assert_same(packed(), {"N": tiles})
    fn = packed()
    (choice,) = fn.body
    always = replace(choice, condition=Const(True, DType.BOOL))
    assert redirected(always) is not None
    assert_same(replace(fn, body=(always,)), {"N": tiles})


def outcome(text, fn, arrays, tiles):
    """Return what the reader of C finds that a text does."""
    source = emit_c(fn)
    given = {p.name: (arrays[p.name].copy().ravel(), 0) for p in source.params if p.name != "N"}
    values = [(p.text, given.get(p.name, tiles)) for p in source.params]
    return run_text(read_unit(text), source.entry, values)


@pytest.mark.parametrize("tiles", [1, 2])
@pytest.mark.parametrize("is_copied", [False, True])
def test_strides_are_those_of_what_is_read(is_copied, tiles):
    (choice,) = packed().body
    fn = replace(packed(), body=(replace(choice, condition=Const(is_copied, DType.BOOL)),))
    text, arrays = emit_c(fn).text, data(fn, {"N": tiles})
    found = outcome(text, fn, arrays, tiles)
    assert found.trouble == ""
    want = interpret(fn, arrays, {"N": tiles})["C"]
    np.testing.assert_array_equal(found.arrays["po_C"].reshape(want.shape), want)
    wrong = text.replace("? 24 : 4", "? 20 : 5")
    assert wrong != text
    other = outcome(wrong, fn, arrays, tiles)
    assert other.trouble or not np.array_equal(other.arrays["po_C"].reshape(want.shape), want)


def elsewhere(expr):
    """Read the operand one row below."""
    if isinstance(expr, Load) and expr.array == "B":
        return replace(expr, index=(op("+", expr.index[0], ex(1)), expr.index[1]))
    return None


def other(expr):
    """Read another array at the place of the operand."""
    is_operand = isinstance(expr, Load) and expr.array == "B"
    return replace(expr, array="A") if is_operand else None


@pytest.mark.parametrize("rule", [elsewhere, other])
def test_nests_that_read_other_elements_are_two(rule):
    (choice,) = packed().body
    assert redirected(choice) is not None
    wrong = tuple(changed(node, rule) for node in choice.otherwise)
    assert redirected(replace(choice, otherwise=wrong)) is None


def test_a_copy_that_holds_something_else_is_not_read_through_a_pointer():
    (choice,) = packed().body

    def scaled(node):
        if isinstance(node, Assign) and node.target.array == "B_panel":
            return replace(node, value=op("*", node.value, at("A", 0, 0)))
        return replace(node, body=tuple(map(scaled, node.body))) if hasattr(node, "body") else node

    wrong = replace(choice, then=tuple(map(scaled, choice.then)))
    assert redirected(wrong) is None


def test_conditions_without_copies_are_branches():
    row = loop("i", 0, "N", Assign(at("A", "i"), at("B", "i")))
    choice = If(Compare(CompareOp.LT, ex("N"), ex(4)), (row, row), (row,))
    assert redirected(choice) is None
    fn = function("f", [array("A", "N"), array("B", "N")], ["N"], choice)
    assert emit_c(fn, Edition(True)).text.count("A[i] = B[i]") == 3


def test_nests_for_threads_are_two():
    (choice,) = packed().body
    *before, last = choice.then
    parallel = replace(last, kind=LoopKind.PARALLEL)
    otherwise = (*choice.otherwise[:-1], replace(choice.otherwise[-1], kind=LoopKind.PARALLEL))
    assert redirected(replace(choice, then=(*before, parallel), otherwise=otherwise)) is None
