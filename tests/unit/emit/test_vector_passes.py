"""The passes that make vectors: which loops and sums become lanes, what lanes share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.helpers import SUFFIX
from polyopt.emit.passes.common_subexpressions import eliminate_common_operands
from polyopt.emit.passes.explicit_vectors import vectorize
from polyopt.emit.passes.reduce import vectorize_reductions
from polyopt.emit.passes.scalar_replacement import replace_in_loops
from polyopt.emit.passes.unroll import unroll
from polyopt.ir.expr import (
    Const,
    Iter,
    Symbol,
)
from polyopt.ir.loops import Assign, Declare, For, LoopKind, SetLocal
from polyopt.ir.scop import Role
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.texts import bare
from tests.unit.emit.kernels import (
    F64,
    array,
    assert_same,
    at,
    call,
    data,
    function,
    i64,
    interpret,
    least,
    loop,
    op,
    plus,
    shown,
)

WIDE = Machine(vector_bytes=64, vector_registers=32)
NARROW = Machine(vector_bytes=32, vector_registers=16)
VECTOR, UNROLL = LoopKind.VECTOR, LoopKind.UNROLL


def saxpy(lower, upper, layout=Layout.C):
    value = op("+", at("y", "i"), op("*", Symbol("a", F64), at("x", "i")))
    arrays = [array("x", 64, role=Role.INPUT, layout=layout), array("y", 64)]
    body = loop("i", lower, upper, Assign(at("y", "i"), value), kind=VECTOR)
    return function("saxpy", arrays, ["N"], body, scalars=[("a", F64)])


@pytest.mark.toolchain
def test_short_loops_become_registers():
    done = vectorize(saxpy(0, 16), WIDE)
    assert all(isinstance(node, Assign) and node.target.lanes == 8 for node in done.body)
    assert len(done.body) == 2
    assert_same(done, {"N": 1}, {"a": 3.0}, other=saxpy(0, 16))


def stencil(terms):
    """Return a loop over a row that adds `terms` elements of another one to each element."""
    value = at("y", "i")
    for number in range(terms):
        value = op("+", value, at("x", plus("i", number)))
    arrays = [array("x", 64, role=Role.INPUT), array("y", 64)]
    return function("f", arrays, ["N"], loop("i", 0, "N", Assign(at("y", "i"), value), kind=VECTOR))


@pytest.mark.parametrize(
    ("fn", "machine", "lanes"),
    [
        (stencil(2), WIDE, 8),
        (stencil(2), NARROW, 1),
        (stencil(11), NARROW, 4),
        (saxpy(0, "N"), WIDE, 1),
        (saxpy("N", plus("N", 5)), WIDE, 1),
        (saxpy("N", least(plus("N", 8), 64)), WIDE, 8),
    ],
    ids=["neighbours", "no line", "long body", "plain", "tiny", "one vector"],
)
def test_loops_that_gain_are_marked(fn, machine, lanes):
    """Reads that share a line of memory, long bodies and rows of one vector become explicit."""
    (node,) = vectorize(fn, machine).body
    assert isinstance(node, For)
    assert node.lanes == lanes


@pytest.mark.parametrize(
    "fn", [saxpy(0, 5), saxpy(0, "N", Layout.STRIDED)], ids=["tiny", "strided"]
)
def test_other_loops_are_left(fn):
    assert vectorize(fn, WIDE).body == fn.body


@pytest.mark.toolchain
def test_operations_without_a_vector_form_are_left():
    value = op("//", at("x", "i"), at("y", "i"))
    body = loop("i", 0, "N", Assign(at("y", "i"), value), kind=VECTOR)
    fn = function("f", [array("x", "N"), array("y", "N")], ["N"], body)
    assert vectorize(fn, WIDE).body == fn.body
    assert_same(fn, {"N": 21})


@pytest.mark.toolchain
@pytest.mark.parametrize("sign", ["min", "max"])
@pytest.mark.parametrize("dtype", [DType.FLOAT32, F64, DType.INT32, DType.INT64, DType.UINT32])
def test_extrema_in_lanes(sign, dtype):
    """Of numbers that are none, of two zeros, of the greatest ones: as without lanes."""
    value = op(sign, at("x", "i", dtype=dtype), at("y", "i", dtype=dtype), dtype)
    width = 64 // dtype.size
    update, last = Assign(at("y", "i", dtype=dtype), value), least("N", plus("t", width))
    body = loop("t", 0, "N", loop("i", "t", last, update, kind=VECTOR), step=width)
    given, role = np.dtype(dtype.value), Role.INPUT
    arrays = [array("x", "N", dtype=dtype, role=role), array("y", "N", dtype=dtype)]
    fn = function("f", arrays, ["N"], body)
    done = vectorize(fn, WIDE)
    assert f"po_{sign}_{SUFFIX[dtype]}x{width}(" in emit_c(done).text
    if given.kind == "f":
        edges = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0], given)
    else:
        info = np.iinfo(given)
        edges = np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], given)
    x, y = np.repeat(edges, 6), np.tile(edges, 6)
    want, found = (call(one, {"x": x, "y": y}, {"N": 36})["y"] for one in (fn, done))
    assert found.tobytes() == want.tobytes()


@pytest.mark.toolchain
def test_locals_of_a_vector_loop_become_vectors():
    s = Symbol("s", F64)
    body = loop(
        "i",
        1,
        "N",
        Declare("s", F64, 1, op("-", at("x", "i"), at("x", plus("i", -1)))),
        SetLocal("s", F64, 1, op("*", s, s)),
        Assign(at("y", "i"), op("+", s, Const(1.0, F64))),
        kind=VECTOR,
    )
    fn = function("f", [array("x", "N", role=Role.INPUT), array("y", "N")], ["N"], body)
    done = optimize_loops(fn, WIDE, "strict")
    assert "po_f64x8 s =" in bare(emit_c(done).text)
    for size in (0, 1, 2, 8, 9, 10, 33):
        assert_same(done, {"N": size}, other=fn)


def test_a_loop_that_only_sets_locals_is_left():
    body = loop("i", 0, "N", Declare("s", F64, 1, at("x", "i")), kind=VECTOR)
    fn = function("f", [array("x", "N", role=Role.INPUT)], ["N"], body)
    done = vectorize(fn, WIDE)
    assert done.body == fn.body
    assert emit_c(done).text


# sums


def row_sums(reassociable=("S0",), order=("i", "j")):
    value = op("+", at("s", "i"), at("A", *order))
    inner = loop("j", 0, "M", Assign(at("s", "i"), value, "S0", (Iter("i"), Iter("j"))))
    arrays = [array("s", "N"), array("A", 40, 40, role=Role.INPUT)]
    return function("f", arrays, ["N", "M"], loop("i", 0, "N", inner), reassociable=reassociable)


def test_open_sums_run_on_lanes():
    done = vectorize_reductions(row_sums())
    assert "reduction(+ : s_acc)" in bare(emit_c(done).text)
    arrays = data(row_sums(), {"N": 5, "M": 37})
    got = interpret(done, arrays, {"N": 5, "M": 37})["s"]
    want = arrays["s"] + arrays["A"][:5, :37].sum(axis=1)
    assert abs(got - want).max() < 1e-12


@pytest.mark.parametrize(
    "fn", [row_sums(()), row_sums(order=("j", "i"))], ids=["ordered", "column"]
)
def test_other_sums_are_left(fn):
    assert vectorize_reductions(fn).body == fn.body


def vector_reduction(sign, kind=VECTOR, reassociable=("S0",), index=0):
    value = op(sign, at("s", index), at("x", "j"))
    assign = Assign(at("s", index), value, "S0", (Iter("j"),))
    arrays = [array("s", 4), array("x", "M", role=Role.INPUT)]
    body = loop("j", 0, "M", assign, kind=kind)
    return function("f", arrays, ["M"], body, reassociable=reassociable)


@pytest.mark.toolchain
@pytest.mark.parametrize("sign", ["+", "*", "min", "max"])
def test_vector_loops_name_their_reductions(sign):
    fn = vector_reduction(sign)
    done = optimize_loops(fn, WIDE, "strict")
    assert ("po_total" if sign == "+" else "reduction(") in emit_c(done).text
    arrays = data(fn, {"M": 100})
    for size in (0, 1, 100):
        values = {"s": arrays["s"], "x": arrays["x"][:size].copy()}
        got, want = call(done, values, {"M": size})["s"], interpret(fn, values, {"M": size})["s"]
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.toolchain
@pytest.mark.parametrize("sign", ["min", "max"])
@pytest.mark.parametrize("place", [0, 7, 31, 99])
def test_nan_survives_minima_and_maxima_on_lanes(sign, place):
    fn = vector_reduction(sign)
    arrays = data(fn, {"M": 100})
    arrays["x"][place] = np.nan
    assert np.isnan(call(optimize_loops(fn, WIDE, "strict"), arrays, {"M": 100})["s"][0])


def test_a_vector_loop_with_an_accumulator_that_cannot_be_local_runs_in_order():
    moving = vector_reduction("+", index=i64("//", "j", 30))
    (node,) = vectorize_reductions(moving).body
    assert node.kind is LoopKind.SEQUENTIAL
    inner = loop("k", 0, 3, Assign(at("s", "k"), op("+", at("s", "k"), at("x", "j")), "S0"))
    nest = loop("j", 0, "M", inner, kind=VECTOR)
    fn = function("f", [array("s", 4), array("x", "M")], ["M"], nest, reassociable=["S0"])
    (node,) = vectorize_reductions(fn).body
    assert node.kind is LoopKind.SEQUENTIAL


@pytest.mark.parametrize(("upper", "kind"), [(7, LoopKind.SEQUENTIAL), (7, VECTOR)])
def test_sums_of_few_terms_are_added_in_order(upper, kind):
    value = op("+", at("s", 0), at("x", "j"))
    body = loop("j", 0, upper, Assign(at("s", 0), value, "S0"), kind=kind)
    fn = function("f", [array("s", 4), array("x", 20)], [], body, reassociable=["S0"])
    (node,) = vectorize_reductions(fn).body
    assert node.kind is LoopKind.SEQUENTIAL
    assert not node.reductions


def test_lanes_with_sums_of_their_own_add_in_order():
    (nest,) = row_sums().body
    lanes = replace(row_sums(), body=(replace(nest, kind=VECTOR),))
    assert vectorize_reductions(lanes).body == lanes.body
    assert vectorize_reductions(row_sums()).body != row_sums().body


def test_a_vector_loop_with_elements_of_its_own_stays():
    value = op("+", at("y", "j"), at("x", "j"))
    body = loop("j", 0, "M", Assign(at("y", "j"), value, "S0"), kind=VECTOR)
    fn = function("f", [array("y", "M"), array("x", "M")], ["M"], body, reassociable=["S0"])
    assert vectorize_reductions(fn).body == fn.body


# operands that vectors share


@pytest.mark.toolchain
def test_common_operands_are_loaded_once():
    row, column = plus("i", "r"), plus("j", "c")
    value = op("+", at("C", row, column), op("*", at("A", row, "k"), at("B", "k", column)))
    tile = loop(
        "r", 0, 2, loop("c", 0, 8, Assign(at("C", row, column), value), kind=VECTOR), kind=UNROLL
    )
    nest = loop("i", 0, 4, loop("j", 0, 16, loop("k", 0, "K", tile), step=8), step=2)
    arrays = [array("C", 4, 16), array("A", 4, "K"), array("B", "K", 16)]
    fn = function("f", arrays, ["K"], nest)
    done = eliminate_common_operands(replace_in_loops(unroll(vectorize(fn, WIDE))))
    text = bare(emit_c(done).text)
    assert text.count("po_load_f64x8(B[k] + j)") == 1
    assert_same(done, {"K": 5}, other=fn)


@pytest.mark.toolchain
def test_divisors_with_a_reciprocal_stay_numbers():
    """The lanes of two vectors are divided by one number: its reciprocal is one number, too."""

    def scaled(a: po.f32["N,32"], by: float, out: po.f32["N,32"]):  # noqa: F821, UP037
        out[:] = a / np.sqrt(np.float32(by))

    a = np.linspace(-1.0, 1.0, 160, dtype=np.float32).reshape(5, 32)
    out, expected = np.zeros_like(a), np.zeros_like(a)
    scaled(a, 3.0, expected)
    po.kernel(scaled, fp="reassociate")(a, 3.0, out)
    assert np.allclose(out, expected, rtol=1e-6, atol=0)


@pytest.mark.toolchain
def test_operands_that_the_body_writes_are_not_shared():
    def step(k):
        return Assign(at("x", plus("c", 8)), op("+", at("x", "c"), at("x", plus("c", 8))), f"S{k}")

    body = loop("t", 0, "T", *(loop("c", 0, 8, step(k), kind=VECTOR) for k in range(2)))
    fn = function("f", [array("x", 16)], ["T"], body)
    done = eliminate_common_operands(unroll(vectorize(fn, WIDE)))
    assert "_v" not in shown(done)
    assert_same(done, {"T": 3}, other=fn)
