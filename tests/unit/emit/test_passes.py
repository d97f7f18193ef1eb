"""The passes: what each makes of small bodies, what it leaves, and that results stay the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.helpers import SUFFIX
from polyopt.emit.passes.common_subexpressions import eliminate_common_operands
from polyopt.emit.passes.disjoint import LoopBox
from polyopt.emit.passes.explicit_vectors import vectorize
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.guards import hoist_guards
from polyopt.emit.passes.reduce import vectorize_reductions
from polyopt.emit.passes.scalar_replacement import Cell, replace_in_loops
from polyopt.emit.passes.simplify import simplify
from polyopt.emit.passes.unroll import unroll
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Iter,
    Load,
    Param,
    Symbol,
    UnaryOp,
    integer,
)
from polyopt.ir.expr import Unary as UnaryExpr
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Declare, For, If, LoopKind, SetLocal, show_body
from polyopt.ir.scop import Array, Role
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
    ex,
    function,
    interpret,
    least,
    loop,
    op,
    plus,
)

I64 = DType.INT64
WIDE = Machine(vector_bytes=64, vector_registers=32)
NARROW = Machine(vector_bytes=32, vector_registers=16)
VECTOR, UNROLL = LoopKind.VECTOR, LoopKind.UNROLL


def i64(sign, left, right):
    return Binary(BinaryOp(sign), ex(left), ex(right), I64)


def shown(fn):
    return "\n".join(show_body(fn.body))


def bump(index, name="x"):
    return Assign(at(name, index), op("+", at(name, index), Const(1.0, F64)), "S0", (ex(index),))


# simplify


def test_simplify_folds_what_sizes_decide():
    body = [
        loop("i", 0, 0, bump("i")),
        loop("i", "N", plus("N", 1), bump("i")),
        loop("i", 0, least("N", plus("N", 3)), bump("i")),
        loop("i", i64("max", 0, i64("*", 2, "N")), 5, bump("i")),
        If(Compare(CompareOp.GE, Param("N"), integer(0)), (bump(integer(1)),), (bump(integer(2)),)),
        If(Compare(CompareOp.LT, Param("N"), Param("N")), (bump(integer(3)),)),
    ]
    fn = simplify(function("f", [array("x", 100)], ["N"], *body))
    assert shown(fn) == "\n".join(
        [
            "x[N] = x[N] + 1.0",
            "for i in range(0, N):",
            "    x[i] = x[i] + 1.0",
            "for i in range(2 * N, 5):",
            "    x[i] = x[i] + 1.0",
            "x[1] = x[1] + 1.0",
        ]
    )


def test_simplify_keeps_what_is_open():
    body = [
        loop("i", 0, least("N", "M"), bump("i")),
        If(Compare(CompareOp.LT, Param("N"), Param("M")), (bump(integer(1)),)),
    ]
    fn = function("f", [array("x", 100)], ["N", "M"], *body)
    assert simplify(fn).body == fn.body


def test_simplify_joins_conditions():
    few, many = Compare(CompareOp.LT, Param("N"), Param("M")), (bump(integer(1)),)
    small = Compare(CompareOp.LT, Param("M"), integer(9))
    fn = function("f", [array("x", 100)], ["N", "M"], If(few, (If(small, many),)))
    assert simplify(fn).body == (If(Binary(BinaryOp.AND, few, small, DType.BOOL), many),)


def test_simplify_reads_no_element_ahead_of_a_condition():
    on_data = Compare(CompareOp.LT, at("x", Param("M")), Const(1.0, F64))
    body = If(Compare(CompareOp.LT, Param("M"), Param("N")), (If(on_data, (bump("M"),)),))
    fn = function("f", [array("x", "N")], ["N", "M"], body)
    assert simplify(fn).body == fn.body


def test_simplify_knows_the_loop_around():
    inner = If(Compare(CompareOp.LT, Iter("i"), least("N", plus("i", 8))), (bump("i"),))
    fn = simplify(function("f", [array("x", "N")], ["N"], loop("i", 0, "N", inner, step=8)))
    assert "if" not in shown(fn)


@pytest.mark.toolchain
def test_simplify_renames_locals_of_collapsed_loops():
    def block(k):
        s = Symbol("s", F64)
        return loop("k", k, k + 1, Declare("s", F64, 1, at("x", "k")), Assign(at("y", "k"), s))

    fn = function("f", [array("x", 4), array("y", 4)], ["N"], block(0), block(2))
    done = simplify(fn)
    names = [node.name for node in done.body if isinstance(node, Declare)]
    assert len(set(names)) == 2
    assert_same(done, {"N": 1}, other=fn)


# guards


def compare(sign, left, right):
    return Compare(CompareOp(sign), ex(left), ex(right))


def both(left, right):
    return Binary(BinaryOp.AND, left, right, DType.BOOL)


@pytest.mark.parametrize(
    "guard,expected",
    [
        (compare(">=", "i", 2), "for i in range(max(0, 2), N):"),
        (compare(">", "i", 2), "for i in range(max(0, 3), N):"),
        (compare("<", "i", 5), "for i in range(0, min(N, 5)):"),
        (compare(">=", "M", plus("i", 2)), "for i in range(0, min(N, M - 1)):"),
        (compare("==", "i", "M"), "for i in range(max(0, M), min(N, M + 1)):"),
        (compare("<", i64("-", "M", "i"), 3), "for i in range(max(0, M - 2), N):"),
    ],
)
def test_guards_become_bounds(guard, expected):
    fn = function("f", [array("x", "N")], ["N", "M"], loop("i", 0, "N", If(guard, (bump("i"),))))
    done = hoist_guards(fn)
    assert shown(done).split("\n")[0] == expected
    for size in (0, 1, 4, 9):
        for other in (-1, 0, 3, 20):
            assert_equal(done, fn, {"N": size, "M": other})


def assert_equal(done, fn, params):
    arrays = data(fn, params)
    got, want = interpret(done, arrays, params), interpret(fn, arrays, params)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name])


def test_other_conditions_leave_the_loop_or_stay():
    odd = compare("==", i64("%", "i", 2), 1)
    guard = both(both(compare("<", "M", "N"), odd), compare("<", "i", 7))
    fn = function("f", [array("x", "N")], ["N", "M"], loop("i", 0, "N", If(guard, (bump("i"),))))
    done = hoist_guards(fn)
    assert shown(done) == "\n".join(
        [
            "if M < N:",
            "    for i in range(0, min(N, 7)):",
            "        if i % 2 == 1:",
            "            x[i] = x[i] + 1.0",
        ]
    )
    assert_equal(done, fn, {"N": 9, "M": 3})


def test_conditions_on_data_stay():
    guard = Compare(CompareOp.LT, at("x", "i"), Const(0.0, F64))
    body = loop("i", 0, "N", If(guard, (bump("i"),)), bump("i", "y"), kind=VECTOR)
    fn = function("f", [array("x", "N"), array("y", "N")], ["N"], body)
    assert hoist_guards(fn).body == fn.body


def test_a_condition_that_all_of_a_loop_needs_leaves_it():
    flag = Compare(CompareOp.LT, at("x", "i"), Const(0.5, F64))
    near, inner = compare("<", "j", 3), compare("<", "j", 7)
    bumped = (bump("j", "y"),)
    body = (
        If(
            near,
            (If(flag, bumped),),
            (If(both(flag, inner), bumped),),
        ),
        If(both(flag, Compare(CompareOp.LT, at("y", "j"), Const(2.0, F64))), bumped),
    )
    fn = function("f", [array("x", "N"), array("y", "N")], ["N"],
                  loop("i", 0, "N", loop("j", 0, "N", *body)))  # fmt: skip
    done = hoist_guards(fn)
    assert shown(done).count("x[i] < 0.5") == 1
    lines = [line.strip() for line in shown(done).split("\n")]
    assert lines.index("if x[i] < 0.5:") < lines.index("for j in range(0, N):")
    for size in (0, 1, 4, 9):
        assert_equal(done, fn, {"N": size})


def test_elements_are_not_read_ahead_of_a_condition_that_may_exclude_them():
    flag = Compare(CompareOp.LT, at("x", "i"), Const(0.5, F64))
    parts = [If(compare("<", "j", k), (If(flag, (bump("j", "y"),)),)) for k in (3, 5)]
    fn = function("f", [array("x", "N"), array("y", "N")], ["N"],
                  loop("i", 0, "N", loop("j", 0, "N", *parts)))  # fmt: skip
    assert hoist_guards(fn).body == fn.body


def test_vector_loops_are_split_by_condition_and_others_are_not():
    parts = (
        If(compare("<", "i", 5), (bump("i"),)),
        If(compare(">", "i", 2), (bump("i", "y"),)),
    )
    arrays = [array("x", "N"), array("y", "N")]
    fn = function("f", arrays, ["N"], loop("i", 0, "N", *parts, kind=VECTOR))
    done = hoist_guards(fn)
    assert len(done.body) == 2
    assert "if" not in shown(done)
    assert_equal(done, fn, {"N": 8})
    ordered = function("f", arrays, ["N"], loop("i", 0, "N", *parts))
    assert hoist_guards(ordered).body == ordered.body


def test_a_lower_bound_does_not_shift_the_phase_of_a_strided_loop():
    body = loop("i", 0, "N", If(compare(">", "i", 2), (bump("i"),)), step=2)
    fn = function("f", [array("x", "N")], ["N"], body)
    assert hoist_guards(fn).body == fn.body


# unroll


def test_unroll_copies_with_tidy_subscripts():
    fn = function(
        "f", [array("x", 100)], ["N"], loop("i", "N", plus("N", 3), bump("i"), kind=UNROLL)
    )
    assert shown(unroll(fn)) == "\n".join(f"x[{k}] = x[{k}] + 1.0" for k in ("N", "N + 1", "N + 2"))
    assert [n.instance for n in unroll(fn).body] == [
        (normalize(plus("N", k)),) if k else (Param("N"),) for k in range(3)
    ]


def test_unroll_leaves_unknown_lengths():
    fn = function("f", [array("x", "N")], ["N"], loop("i", 0, "N", bump("i"), kind=UNROLL))
    (node,) = unroll(fn).body
    assert isinstance(node, For)
    assert node.kind is LoopKind.SEQUENTIAL


@pytest.mark.toolchain
def test_unroll_renames_locals():
    body = (
        Declare("s", F64, 1, at("x", "i")),
        SetLocal("s", F64, 1, op("*", Symbol("s", F64), Symbol("s", F64))),
        Assign(at("x", "i"), Symbol("s", F64)),
    )
    fn = function("f", [array("x", 3)], ["N"], loop("i", 0, 3, *body, kind=UNROLL))
    assert_same(unroll(fn), {"N": 1}, other=fn)


# vectors


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


# fma


@pytest.mark.toolchain
def test_only_named_statements_are_contracted():
    value = op("+", at("x", "i"), op("*", at("y", "i"), at("y", "i")))
    body = [Assign(at("x", "i"), value, name, (Iter("i"),)) for name in ("S0", "S1")]
    arrays = [array("x", "N"), array("y", "N", role=Role.INPUT)]
    fn = function("f", arrays, ["N"], loop("i", 0, "N", *body), reassociable=["S1"])
    assert shown(contract(fn)) == "\n".join(
        [
            "for i in range(0, N):",
            "    x[i] = x[i] + y[i] * y[i]",
            "    x[i] = fma(y[i], y[i], x[i])",
        ]
    )
    assert_same(contract(fn), {"N": 9}, other=contract(fn))


def test_updates_of_locals_are_contracted_as_those_of_elements():
    """A sum that is in a local from the start; `S1`, whose order is fixed, rounds twice."""
    arrays = (array("y", "N"), array("x", "N"))
    total, y = Symbol("total", F64), at("y", "i")
    updates = [
        SetLocal("total", F64, 1, op("+", total, op("*", y, y)), name) for name in ("S0", "S1")
    ]
    body = (Declare("total", F64, 1, y), *updates, Assign(at("x", "i"), total))
    fn = contract(function("f", arrays, ["N"], loop("i", 0, "N", *body), reassociable=["S0"]))
    text = shown(fn)
    assert text.count("total = fma(y[i], y[i], total)") == 1
    assert text.count("total = total + y[i] * y[i]") == 1


def test_difference_is_contracted_with_the_sign():
    value = op("-", at("x", "i"), op("*", at("y", "i"), at("y", "i")))
    arrays = [array("x", "N"), array("y", "N", role=Role.INPUT)]
    assign = Assign(at("x", "i"), value, "S0", (Iter("i"),))
    fn = contract(function("f", arrays, ["N"], loop("i", 0, "N", assign), reassociable=["S0"]))
    (node,) = fn.body[0].body
    assert node.value.args[0] == UnaryExpr(UnaryOp.NEG, at("y", "i"), F64)


# promote


def accumulate(target, *extra, lower=0, upper="K"):
    value = op("+", target, op("*", at("A", "i", "k"), at("B", "k", "i")))
    arrays = [
        array("C", 20, 20),
        array("A", 20, 20, role=Role.INPUT),
        array("B", 20, 20, role=Role.INPUT),
    ]
    nest = loop("i", 0, 10, loop("k", lower, upper, Assign(target, value, "S0"), *extra))
    return function("f", arrays, ["K"], nest)


@pytest.mark.toolchain
def test_accumulators_live_in_locals():
    fn = accumulate(at("C", "i", "i"))
    assert shown(replace_in_loops(fn)) == "\n".join(
        [
            "for i in range(0, 10):",
            "    if K > 0:",
            "        C_acc = C[i, i]",
            "        for k in range(0, K):",
            "            C_acc = C_acc + A[i, k] * B[k, i]",
            "        C[i, i] = C_acc",
        ]
    )
    for size in (0, 1, 7):
        assert_same(replace_in_loops(fn), {"K": size}, other=fn)


def test_constant_loops_need_no_condition():
    assert "if" not in shown(replace_in_loops(accumulate(at("C", "i", "i"), upper=7)))


def test_an_element_that_another_access_may_touch_stays_in_memory():
    other = Assign(at("C", "k", "k"), Const(0.0, F64))
    fn = accumulate(at("C", "i", "i"), other, upper=10)
    assert replace_in_loops(fn).body == fn.body


@pytest.mark.toolchain
def test_an_element_apart_from_the_others_is_promoted():
    other = Assign(at("C", "k", plus("i", 1)), Const(0.0, F64))
    fn = accumulate(at("C", "k", "i"), other, upper=10)
    assert replace_in_loops(fn).body == fn.body
    apart = accumulate(
        at("C", "i", "i"), Assign(at("C", "i", plus("i", 1)), at("C", "i", plus("i", 2)))
    )
    assert "C_acc" in shown(replace_in_loops(apart))
    assert_same(replace_in_loops(apart), {"K": 6}, other=apart)


def accumulate_twice(target, inner="K", outer="M"):
    value = op("+", target, op("*", at("A", "i", "k"), at("A", "k", "p")))
    arrays = [array("C", 20, 20), array("A", 20, 20, role=Role.INPUT)]
    nest = loop("p", 0, outer, loop("k", 0, inner, Assign(target, value, "S0")))
    return function("f", arrays, ["K", "M"], loop("i", 0, 10, nest))


@pytest.mark.toolchain
def test_accumulators_live_in_locals_over_all_loops_of_a_sum():
    fn = accumulate_twice(at("C", "i", "i"))
    assert shown(replace_in_loops(fn)) == "\n".join(
        [
            "for i in range(0, 10):",
            "    if K > 0:",
            "        if M > 0:",
            "            C_acc = C[i, i]",
            "            for p in range(0, M):",
            "                for k in range(0, K):",
            "                    C_acc = C_acc + A[i, k] * A[k, p]",
            "            C[i, i] = C_acc",
        ]
    )
    for sizes in ({"K": 0, "M": 3}, {"K": 3, "M": 0}, {"K": 4, "M": 5}):
        assert_same(replace_in_loops(fn), sizes, other=fn)


@pytest.mark.toolchain
@pytest.mark.parametrize("target,inner", [(at("C", "i", "p"), "K"), (at("C", "i", "i"), "p")])
def test_an_element_or_a_condition_that_moves_stays_in_the_loop(target, inner):
    fn = accumulate_twice(target, inner)
    assert shown(replace_in_loops(fn)).index("for p") < shown(replace_in_loops(fn)).index("C_acc")
    assert_same(replace_in_loops(fn), {"K": 4, "M": 5}, other=fn)


@pytest.mark.toolchain
def test_triangular_bounds_prove_distance():
    target = at("A", "i", "i")
    value = op("-", target, op("*", at("A", "i", "k"), at("A", "i", "k")))
    nest = loop("i", 0, "N", loop("k", 0, "i", Assign(target, value, "S0")))
    fn = function("f", [array("A", "N", "N")], ["N"], nest)
    assert "A_acc" in shown(replace_in_loops(fn))
    assert_same(replace_in_loops(fn), {"N": 13}, other=fn)
    whole = loop("i", 0, "N", loop("k", 0, plus("i", 1), Assign(target, value, "S0")))
    fn = function("f", [array("A", "N", "N")], ["N"], whole)
    assert replace_in_loops(fn).body == fn.body


@pytest.mark.parametrize(
    "a,b,lanes,expected",
    [
        (("i", "j"), ("i", "j"), 1, False),
        (("i", "j"), (plus("i", 1), "j"), 1, True),
        (("i", "j"), ("i", plus("j", 7)), 8, False),
        (("i", "j"), ("i", plus("j", 8)), 8, True),
        (("i", "j"), ("i", plus("j", -8)), 8, True),
        (("i", "j"), ("i", plus("j", -7)), 8, False),
        (("i", "j"), ("i", "k"), 1, False),
        (("i", "N"), ("i", "k"), 1, True),
    ],
)
def test_disjoint(a, b, lanes, expected):
    around = loop("k", 0, "N")
    first = Cell("A", tuple(ex(p) for p in a), lanes)
    second = Cell("A", tuple(ex(p) for p in b), lanes)
    assert LoopBox((around,)).are_disjoint(first, second) is expected


@pytest.mark.parametrize("start,expected", [(1, True), (0, False)])
def test_bounds_of_outer_loops_prove_distance(start, expected):
    """Rows of later tiles are apart from the columns of this one."""
    outer = loop("t", 0, "N")
    tiles = loop("u", plus("t", start), "N")
    depth = loop("k", i64("*", integer(8), Iter("t")), plus(i64("*", integer(8), Iter("t")), 8))
    rows = i64("*", integer(8), Iter("u"))
    box = LoopBox((outer, tiles, depth))
    first, second = Cell("A", (rows, Iter("j")), 1), Cell("A", (Iter("k"), Iter("j")), 1)
    assert box.are_disjoint(first, second) is expected
    upper = Cell("A", (Iter("j"), Iter("k")), 1)
    assert box.are_disjoint(Cell("A", (Iter("j"), rows), 8), upper) is expected


# reduce


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


# share


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


def guarded_loop(condition, target):
    """for i in range(N): if condition: target = 1.0"""
    body = (If(condition, (Assign(target, Const(1.0, F64)),)),)
    return For("i", integer(0), Param("N"), 1, LoopKind.SEQUENTIAL, body)


@pytest.mark.parametrize("index", [(), (Param("N"),)])
def test_a_condition_on_data_that_the_loop_leaves_alone_moves_out(index):
    flag = Load("flag", index, DType.BOOL)
    loop = guarded_loop(flag, Load("A", (Iter("i"),), F64))
    arrays = (
        Array("A", F64, (Param("N"),), Role.INOUT),
        Array("flag", DType.BOOL, index, Role.INPUT),
    )
    (outer,) = hoist_guards(function("f", arrays, ["N"], loop)).body
    assert isinstance(outer, If)
    if index:  # an element is read only where an iteration would read it
        assert outer.condition == Compare(CompareOp.LT, integer(0), Param("N"))
        (outer,) = outer.then
    assert outer.condition == flag
    assert isinstance(outer.then[0], For)


def test_a_condition_that_the_loop_changes_stays():
    flag = Load("A", (), F64)
    loop = guarded_loop(Compare(CompareOp.GT, flag, Const(0.0, F64)), flag)
    arrays = (Array("A", F64, (), Role.INOUT),)
    (found,) = hoist_guards(function("f", arrays, ["N"], loop)).body
    assert found == loop
