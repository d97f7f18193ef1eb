"""The passes: what each makes of small bodies, what it leaves, and that results stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit.passes.disjoint import LoopBox
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.guards import hoist_guards
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
from polyopt.ir.loops import Assign, Declare, For, If, LoopKind, SetLocal
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    F64,
    array,
    assert_same,
    at,
    data,
    ex,
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
VECTOR, UNROLL = LoopKind.VECTOR, LoopKind.UNROLL


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
        (compare(">=", "i", 2), "for i in range(2, N):"),
        (compare(">", "i", 2), "for i in range(3, N):"),
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
