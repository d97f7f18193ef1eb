"""Packed blocks: rows left over read them, unless what they hold has changed since."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit.passes.packing import pack_operands
from polyopt.ir.expr import Binary, BinaryOp, Const
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Assign, LoopKind, show_body
from polyopt.ir.types import DType
from polyopt.ir.views import without_views
from polyopt.machine import Machine
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
)  # fmt: skip

UNROLL, VECTOR = LoopKind.UNROLL, LoopKind.VECTOR


def times(a, b):
    return Binary(BinaryOp.MUL, ex(a), ex(b), DType.INT64)


def product(*between, tiles=2):
    """Two rows at a time of C += A @ B in panels of 4 columns; `between`; row 4 of it."""
    add = Assign(
        at("C", "i", "j"), op("+", at("C", "i", "j"), op("*", at("A", "i", "k"), at("B", "k", "j")))
    )
    first = times(4, "p")

    def panels(rows):
        lanes = loop("j", first, plus(first, 4), add, kind=VECTOR)
        return loop("p", 0, 2, loop("k", 0, 6, rows(lanes)))

    full = panels(
        lambda lanes: loop("i", times(2, "t"), plus(times(2, "t"), 2), lanes, kind=UNROLL)
    )
    tail = panels(lambda lanes: loop("i", 4, 5, lanes))
    arrays = [array("A", 5, 6), array("B", 6, 8), array("C", 5, 8)]
    sizes = () if isinstance(tiles, int) else (tiles,)
    return function("f", arrays, sizes, loop("t", 0, tiles, full), *between, tail)


CHANGE = Assign(at("B", 0, 0), Const(3.0, F64))
OTHER = Assign(at("A", 4, 0), Const(3.0, F64))


@pytest.mark.parametrize(("between", "reads"), [((), 2), ((OTHER,), 2), ((CHANGE,), 1)])
def test_later_nests_reuse_packed_blocks(between, reads):
    fn = product(*between)
    packed = pack_operands(fn, Machine())
    sums = [line for line in show_body(packed.body) if line.strip().startswith("C[")]
    assert sum("B_panel[" in line for line in sums) == reads
    lines = [line.strip() for line in show_body(packed.body)]
    assert ("if 0 < 2:" in lines) == (reads == 1)  # filled for the tiles alone, if there are any
    arrays = data(fn, {})
    for name, value in interpret(fn, arrays, {}).items():
        np.testing.assert_array_equal(interpret(packed, arrays, {})[name], value)


@pytest.mark.parametrize("tiles", [0, 1, 2])
@pytest.mark.parametrize(("l2", "least"), [(8 * 48 * 90, 9), (8 * 48 // 2, 0)])
def test_for_few_tiles_of_rows_nothing_is_packed(tiles, l2, least):
    """For one tile, where the rows of the operand do not fit the second cache."""
    fn = product(tiles="N")
    packed = pack_operands(fn, Machine(l1=1 << 10, l2=l2))
    *_, choice = without_views(packed.body)
    sums = [
        [line for line in show_body(body) if line.strip().startswith("C[")]
        for body in (choice.then, choice.otherwise)
    ]
    assert [["B_panel[" in line for line in part] for part in sums] == [
        [True, True],
        [False, False],
    ]
    counts = [count for count in range(20) if evaluate(choice.condition, {"N": count})]
    assert counts == list(range(least, 20))
    arrays = data(fn, {"N": tiles})
    expected = interpret(fn, arrays, {"N": tiles})
    for name, value in interpret(packed, arrays, {"N": tiles}).items():
        np.testing.assert_array_equal(expected[name], value)


def scaled(value, *inside, columns=2, sizes=()):
    """Four rows at a time of C += value in panels of 4 columns, `inside` the loop over rows."""
    add = Assign(at("C", "i", "j"), op("+", at("C", "i", "j"), value))
    first = times(4, "p")
    lanes = loop("j", first, plus(first, 4), add, kind=VECTOR)
    rows = loop("i", times(4, "t"), plus(times(4, "t"), 4), lanes, kind=UNROLL)
    panels = loop("p", 0, columns, loop("k", 0, 6, rows))
    arrays = [array("A", 8, 6), array("B", 6, 8), array("C", 8, 8), array("s", 6)]
    return function("f", arrays, sizes, loop("t", 0, 2, panels, *inside))


ROW = op("*", op("*", at("s", "k"), at("A", "i", "k")), at("B", "k", "j"))
COLUMN = op("*", at("A", "i", "k"), op("*", at("B", "k", "j"), at("s", "k")))
BOTH = op("*", op("-", at("A", "i", "k"), at("s", "k")), op("*", at("B", "k", "j"), at("s", 0)))


@pytest.mark.parametrize(
    ("value", "used"), [(ROW, {"factor", "B_panel"}), (COLUMN, {"B_panel"}),
                        (BOTH, {"factor", "B_panel"})]
)  # fmt: skip
def test_computed_operands_are_packed_once(value, used):
    fn = scaled(value)
    packed = pack_operands(fn, Machine())
    (line,) = [line for line in show_body(packed.body) if line.strip().startswith("C[")]
    assert {name for name in ("factor", "B_panel") if f"{name}[" in line} == used
    assert "s[" not in line
    arrays = data(fn, {})
    for name, result in interpret(fn, arrays, {}).items():
        np.testing.assert_array_equal(interpret(packed, arrays, {})[name], result)


def test_factors_are_computed_where_there_are_columns_alone():
    fn = scaled(ROW, columns=least("P", 2), sizes=["P"])
    lines = [line.strip() for line in show_body(pack_operands(fn, Machine()).body)]
    first = next(number for number, line in enumerate(lines) if line.startswith("factor["))
    assert any(line.startswith("if 0 < min(") for line in lines[:first])
    for panels in (0, 1, 2):
        arrays = data(fn, {"P": panels})
        for name, result in interpret(fn, arrays, {"P": panels}).items():
            packed = interpret(pack_operands(fn, Machine()), arrays, {"P": panels})
            np.testing.assert_array_equal(packed[name], result)


def test_factors_of_what_the_tile_writes_stay():
    own = op("*", op("*", at("s", "k"), at("C", "i", "k")), at("B", "k", "j"))
    lines = show_body(pack_operands(scaled(own), Machine()).body)
    assert not any("factor" in line for line in lines)
