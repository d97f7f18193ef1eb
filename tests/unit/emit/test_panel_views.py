"""Nests that read a panel or the operand itself: once, through views, and when they are two."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.dataclass import replace
from polyopt.emit import emit_c
from polyopt.emit.banner import BUILT, Edition
from polyopt.emit.passes.packing import pack_operands
from polyopt.emit.passes.rewriting import local_names, renamed
from polyopt.emit.regions import free_names
from polyopt.ir.expr import Const, Symbol
from polyopt.ir.loops import Assign, Declare, DeclareView, If, LoopKind, Place
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.ir.views import without_views
from polyopt.machine import Machine
from tests.oracle.text import read_unit, run_text
from tests.unit.emit.kernels import F64, array, assert_same, at, data, function, interpret, loop, op
from tests.unit.emit.test_packing import product

SMALL = Machine(l1=1 << 10, l2=8 * 48 * 90)
"""A processor on which nine tiles of rows pay for a panel of six by eight elements."""


def packed(fn=None):
    """Return tiles of rows that read a panel, or the operand where they are few."""
    return pack_operands(fn or product(tiles="N"), SMALL)


def views_of(fn):
    return [node for node in all_nodes(fn.body) if isinstance(node, DeclareView)]


def with_copies(fn, is_copied):
    """Return a function whose panel is filled always, or never."""
    chosen, *rest = fn.body
    assert isinstance(chosen, Declare)
    return replace(fn, body=(replace(chosen, value=Const(is_copied, DType.BOOL)), *rest))


@pytest.mark.parametrize("edition", [BUILT, Edition(True)])
def test_nests_are_printed_once(edition):
    text = emit_c(packed(), edition).text
    assert text.count("B_from") == 3  # its declaration, the tiles, the row that is left over
    assert text.count("for (int64_t t = 0") == 1


def test_a_view_names_the_panel_or_the_operand():
    (view,) = views_of(packed())
    assert view.then == Place(at("B_panel", 0, 0, 0), ((1, 0, 0), (0, 1, 0)))
    assert view.otherwise == Place(at("B", 0, 0), ((0, 4), (1, 0)))


def test_without_views_there_is_a_nest_for_each_place():
    (*_, choice) = without_views(packed().body)
    assert isinstance(choice, If)
    assert choice.condition == packed().body[0].value
    filling, *copied = choice.then
    assert [n.target.array for n in all_nodes((filling,)) if isinstance(n, Assign)] == ["B_panel"]
    *_, plain = product(tiles="N").body
    assert choice.otherwise[-1] == plain
    assert len(copied) == len(choice.otherwise)


@pytest.mark.toolchain
@pytest.mark.parametrize("tiles", [0, 1, 2])
def test_what_is_read_is_the_same(tiles):
    assert_same(packed(), {"N": tiles})
    assert_same(with_copies(packed(), True), {"N": tiles})


def outcome(text, fn, arrays, tiles):
    """Return what the reader of C finds that a text does."""
    source = emit_c(fn)
    given = {p.name: (arrays[p.name].copy().ravel(), 0) for p in source.params if p.name != "N"}
    values = [(p.text, given.get(p.name, tiles)) for p in source.params]
    return run_text(read_unit(text), source.entry, values)


@pytest.mark.parametrize("tiles", [1, 2])
@pytest.mark.parametrize("is_copied", [False, True])
def test_strides_are_those_of_what_is_read(is_copied, tiles):
    fn = with_copies(packed(), is_copied)
    text, arrays = emit_c(fn).text, data(fn, {"N": tiles})
    found = outcome(text, fn, arrays, tiles)
    assert found.trouble == ""
    want = interpret(fn, arrays, {"N": tiles})["C"]
    np.testing.assert_array_equal(found.arrays["po_C"].reshape(want.shape), want)
    wrong = text.replace("? 24 : 4", "? 20 : 5")
    assert wrong != text
    other = outcome(wrong, fn, arrays, tiles)
    assert other.trouble or not np.array_equal(other.arrays["po_C"].reshape(want.shape), want)


def test_rows_with_strides_are_read_through_views():
    fn = product(tiles="N")
    rows = replace(fn, arrays=(fn.arrays[0], array("B", 6, 8, layout=Layout.ROWS), fn.arrays[2]))
    assert "B_s1_ = is_copied_ ? 4 : B_s0_" in emit_c(packed(rows)).text
    apart = array("B", 6, 8, layout=Layout.STRIDED)
    assert not views_of(packed(replace(fn, arrays=(fn.arrays[0], apart, fn.arrays[2]))))


def test_nests_behind_which_the_operand_changes_are_two():
    change = loop("i", 0, 5, Assign(at("B", "i", 0), at("A", "i", 0)))
    fn = product(tiles="N")
    assert views_of(packed(fn))
    assert not views_of(packed(replace(fn, body=(*fn.body, change))))


def test_nests_for_threads_are_two():
    first, last = product(tiles="N").body
    parallel = replace(last, kind=LoopKind.PARALLEL)
    fn = packed(function("f", product(tiles="N").arrays, ["N"], first, parallel))
    assert not views_of(fn)
    (choice,) = fn.body
    assert isinstance(choice, If)


def test_panels_of_expressions_are_read_by_nests_of_their_own():
    first, last = product(tiles="N").body

    def doubled(node):
        if isinstance(node, Assign):
            value = op(
                "+",
                node.target,
                op("*", at("A", "i", "k"), op("*", at("B", "k", "j"), at("A", 0, "k"))),
            )
            return replace(node, value=value)
        return replace(node, body=tuple(map(doubled, node.body)))

    fn = packed(function("f", product().arrays, ["N"], doubled(first), doubled(last)))
    assert not views_of(fn)


def test_passes_keep_the_places_of_views():
    (view,) = views_of(packed())
    x = Symbol("x", F64)
    assert changed(view, lambda e: x if e == at("B", 0, 0) else None) == view
    moved = changed(view, lambda e: at("D", 0, 0) if e == at("B", 0, 0) else None)
    assert moved == replace(view, otherwise=Place(at("D", 0, 0), view.otherwise.steps))
    names = {"B_panel": "T", "B_from": "V", "is_copied": "chosen"}
    again = renamed(packed().body, names)
    assert local_names(again)[:3] == ("chosen", "T", "V")
    assert set(names).isdisjoint(free_names(again).arrays)
    assert not free_names(again).locals
