"""Vectors in emitted text: every element once, apart or side by side, with and without helpers."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.dataclass import replace
from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.lanes import NotVector, row_arrays, vectorized
from polyopt.ir.expr import (
    MOST_APART,
    Compare,
    CompareOp,
    Const,
)
from polyopt.ir.loops import (
    Assign,
    For,
    If,
    LoopKind,
)
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    arguments,
    array,
    at,
    build,
    data,
    ex,
    function,
    interpret,
    least,
    loop,
    op,
    plus,
)

WIDE = Machine(cores=2, vector_bytes=64, vector_registers=32)


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64], ids=str)
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("portable", [False, True], ids=["native", "portable"])
def test_partial_vectors_cover_every_element_once(dtype, vector_bytes, portable):
    machine = Machine(vector_bytes=vector_bytes)
    x, y = at("x", "i", dtype=dtype), at("y", plus("i", 1), dtype=dtype)
    value = op("+", op("*", x, y, dtype), at("z", "i", dtype=dtype), dtype)
    body = loop("i", "LO", "HI", Assign(at("z", "i", dtype=dtype), value), kind=LoopKind.VECTOR)
    arrays = [array(n, 64, dtype=dtype) for n in "xyz"]
    fn = function("f", arrays, ["LO", "HI"], body)
    (row,) = optimize_loops(fn, machine, "strict").body
    assert isinstance(row, For)
    done = replace(fn, body=(row.annotated(lanes=vector_bytes // dtype.size),))
    flags = tuple(f for f in STRICT if not (portable and f == "-march=native"))
    entry = build(source := emit_c(done), (*flags, "-Wno-psabi"))
    assert "po_store_part" in source.text
    params = {"LO": 0, "HI": 0}
    for low, high in [(0, 0), (3, 2), (0, 1), (5, 7), (1, 62), (8, 16), (0, 63), (13, 30)]:
        params = {"LO": low, "HI": high}
        values = data(fn, params, seed=low)
        want = interpret(fn, values, params)
        assert entry(*arguments(source, values, params, {})) == 0
        np.testing.assert_array_equal(values["z"], want["z"], err_msg=f"{low} {high}")


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64], ids=str)
@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("portable", [False, True], ids=["native", "portable"])
def test_vectors_of_elements_that_lie_apart(dtype, step, portable):
    """The last element that is read is the row's last one: nothing behind it is touched."""
    x = at("x", op("*", ex(step), ex("i"), DType.INT64), dtype=dtype)
    y = at("y", plus(op("*", ex("i"), ex(step), DType.INT64), 1), dtype=dtype)
    value = op("+", op("*", x, y, dtype), at("z", "i", dtype=dtype), dtype)
    body = loop("i", "LO", "HI", Assign(at("z", "i", dtype=dtype), value), kind=LoopKind.VECTOR)
    long = 63 * step + 1
    arrays = [array("x", long, dtype=dtype), array("y", long + 1, dtype=dtype)]
    fn = function("f", [*arrays, array("z", 64, dtype=dtype)], ["LO", "HI"], body)
    done = optimize_loops(fn, Machine(vector_bytes=64), "strict")
    flags = tuple(f for f in STRICT if not (portable and f == "-march=native"))
    entry = build(source := emit_c(done), (*flags, "-Wno-psabi"))
    assert "po_every_part_" in source.text
    for low, high in [(0, 0), (3, 2), (0, 1), (5, 7), (1, 62), (8, 16), (0, 64), (13, 30)]:
        params = {"LO": low, "HI": high}
        values = data(fn, params, seed=low)
        want = interpret(fn, values, params)
        assert entry(*arguments(source, values, params, {})) == 0
        np.testing.assert_array_equal(values["z"], want["z"], err_msg=f"{low} {high}")


@pytest.mark.parametrize("step", [-1, MOST_APART + 1])
def test_elements_that_lie_too_far_apart_are_no_vector(step):
    read = at("x", plus(op("*", ex(step), ex("i"), DType.INT64), 60))
    body = loop("i", 0, "N", Assign(at("z", "i"), read), kind=LoopKind.VECTOR)
    fn = function("f", [array("x", 500), array("z", 60)], ["N"], body)
    with pytest.raises(NotVector):
        vectorized(fn.body[0], 8, row_arrays(fn))


def test_what_is_written_lies_side_by_side():
    target = at("z", op("*", ex(2), ex("i"), DType.INT64))
    body = loop("i", 0, "N", Assign(target, at("x", "i")), kind=LoopKind.VECTOR)
    fn = function("f", [array("x", 60), array("z", 120)], ["N"], body)
    with pytest.raises(NotVector):
        vectorized(fn.body[0], 8, row_arrays(fn))


@pytest.mark.toolchain
@pytest.mark.parametrize("portable", [False, True], ids=["native", "portable"])
@pytest.mark.parametrize("upper, strips", [("M", False), (least("M", 8), True), (8, True)])
def test_sums_in_lanes(upper, strips, portable):
    """Lanes outside of a sum: its loop runs once for all of them, results stay in registers."""
    product = op("*", at("A", "i", "k"), at("B", "k", "j"))
    add_up = Assign(at("C", "i", "j"), op("+", at("C", "i", "j"), product))
    lanes = loop("j", 0, upper, loop("k", 0, "K", add_up), kind=LoopKind.VECTOR)
    arrays = [array("C", "N", 12), array("A", "N", "K"), array("B", "K", 12)]
    fn = function("f", arrays, ["N", "M", "K"], loop("i", 0, "N", lanes))
    done = optimize_loops(fn, WIDE if upper == "M" else Machine(vector_bytes=64), "strict")
    flags = tuple(f for f in STRICT if not (portable and f == "-march=native"))
    entry = build(source := emit_c(done), (*flags, "-Wno-psabi"))
    assert "po_load_f64x" in source.text
    assert ("po_phase" in source.text) != strips
    for m, k in [(0, 3), (1, 3), (3, 0), (5, 4), (7, 1), (8, 2), (11, 2)]:
        params = {"N": 3, "M": m, "K": k}
        values = data(fn, params, seed=m)
        want = interpret(fn, values, params)
        assert entry(*arguments(source, values, params, {})) == 0
        np.testing.assert_array_equal(values["C"], want["C"], err_msg=f"{m} {k}")


def test_lanes_that_differ_in_control_are_no_vectors():
    add_up = Assign(at("C", "j"), op("+", at("C", "j"), at("B", "k", "j")))
    arrays = [array("C", "N"), array("B", "N", "N")]
    for inner in (
        loop("k", 0, "j", add_up),
        loop("k", 0, "N", add_up, kind=LoopKind.PARALLEL),
        If(Compare(CompareOp.GT, at("C", 0), Const(0.0, F64)), (add_up,)),
    ):
        lanes = loop("j", 0, "N", inner, kind=LoopKind.VECTOR)
        fn = function(
            "f", arrays, ["N"], loop("k", 0, "N", lanes) if inner.__class__ is If else lanes
        )
        assert "po_f64x" not in emit_c(optimize_loops(fn, WIDE, "strict")).text
