"""Rows read at neighbouring places: what is loaded once, and that nothing changes by it."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.emit.lanes import row_arrays, vectorized
from polyopt.emit.passes.explicit_vectors import vectorize
from polyopt.emit.vector_loops import windows
from polyopt.ir.expr import Binary, BinaryOp
from polyopt.ir.loops import Assign, LoopKind
from polyopt.ir.scop import Role
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.oracle.text import read_unit, run_text
from tests.unit.emit.kernels import (
    array,
    assert_same,
    at,
    data,
    ex,
    function,
    interpret,
    loop,
    op,
    plus,
)

WIDE = Machine(vector_bytes=64, vector_registers=32)


def total(*loads):
    value, *others = loads
    for other in others:
        value = op("+", value, other)
    return value


def row(target, *reads, inner=("B", "A")):
    body = loop("j", 3, plus("N", -3), Assign(target, total(*reads)), kind=LoopKind.VECTOR)
    arrays = [array(inner[0], 3, "N"), array(inner[1], 3, "N", role=Role.INPUT)]
    return function("f", arrays, ["N"], body)


def around(name, line, *distances):
    return [at(name, line, plus("j", d)) for d in distances]


def found(fn):
    (node,) = fn.body
    return {
        (w.here.index[0].value, tuple(sorted(d for _, d in w.others)))
        for w in windows(vectorized(node, 8, row_arrays(fn)))
    }


def test_reads_of_one_row():
    reads = (*around("A", 1, -1, 0, 1), *around("A", 0, 0), *around("A", 2, 0, 2))
    assert found(row(at("B", 1, "j"), *reads)) == {(1, (-1, 1)), (2, (2,))}


def test_loads_are_aligned_like_stores():
    assert found(row(at("B", 1, plus("j", 1)), *around("A", 1, -1, 0, 1))) == {(1, (-2, -1))}
    assert found(row(at("B", 1, plus("j", 3)), *around("A", 1, -2, 0, 1))) == {(1, (-2, 1))}


def test_a_row_that_is_written():
    """Other rows of the array are read as they were, the row itself may be written before."""
    assert found(row(at("B", 1, "j"), *around("B", 1, 1, 2))) == set()
    assert found(row(at("B", 1, "j"), *around("B", 0, 0, 1))) == {(0, (1,))}
    assert found(row(at("B", "N", "j"), *around("B", 0, 0, 1))) == set()


@pytest.mark.parametrize(("distance", "apart"), [(1, True), (3, False), (4, True), (0, False)])
def test_rows_of_ping_pong_buffers(distance, apart):
    def turn(value):
        return Binary(BinaryOp.MOD, ex(value), ex(3), DType.INT64)

    reads = [at("B", turn("N"), plus("j", d)) for d in (0, 1)]
    fn = row(at("B", turn(plus("N", distance)), "j"), *reads)
    (node,) = fn.body
    assert bool(windows(vectorized(node, 8, row_arrays(fn)))) == apart


def test_shorter_vectors_are_left():
    fn = row(at("B", 1, "j"), *around("A", 1, -1, 0, 1))
    (node,) = fn.body
    assert windows(vectorized(node, 4, row_arrays(fn))) == ()


STENCIL = row(
    at("B", 1, "j"),
    *around("A", 1, -3, -1, 0, 1, 2),
    *around("A", 0, 0, 3),
    *around("A", 2, -1),
    *around("B", 2, -1, 1),
)


def difference(text, params):
    arrays = data(STENCIL, params)
    want = interpret(STENCIL, arrays, params)
    unit = read_unit(text)
    given = [(name, (arrays[name].ravel(), 0)) for name in ("B", "A")]
    source = emit_c(STENCIL)
    values = {**params, **dict(given)}
    outcome = run_text(unit, source.entry, [(p.name, values[p.name]) for p in source.params])
    assert outcome.trouble == ""
    return not np.array_equal(outcome.arrays["B"].reshape(want["B"].shape), want["B"])


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [0, 6, 13, 21, 30, 46, 47, 64])
def test_same_values(size):
    fn = vectorize(STENCIL, WIDE)
    text = emit_c(fn).text
    assert text.count("_0b_, A_0c_") == 2
    assert not difference(text, {"N": size})
    assert_same(fn, {"N": size}, other=STENCIL)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("A_0b_, A_0c_, 2", "A_0b_, A_0c_, 1"),
        ("A_0a_, A_0b_, 7", "A_0a_, A_0b_, 6"),
        ("A_0a_ = A_0b_;", ""),
        ("A_0b_ = A_0c_;", ""),
        ("j -= 8;", ""),
    ],
)
def test_a_fault_is_seen(line, fault):
    text = emit_c(vectorize(STENCIL, WIDE)).text
    assert line in text
    assert difference(text.replace(line, fault), {"N": 64})
