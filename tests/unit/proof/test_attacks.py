"""Loops that were made wrong on purpose, each in a way that reads as if it were right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    integer,
    walk,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Comment,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import changed
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.pipeline import compile_program
from polyopt.proof import certify
from polyopt.targets import Options
from tests.unit.proof.edits import (
    F64,
    I64,
    MACHINE,
    SIZE,
    I,
    below,
    edited,
    element,
    faults,
    local,
    loops_of,
    marked,
    number,
    only_loop,
    program_of,
    reasons,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def copied(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        out[i] = x[i]


def cleared(out: po.f64["2"]):
    for i in range(2):
        out[i] = 0.0


def scaled(x: po.f64["N"], out: po.f64["N"], f: po.f64, g: po.f64):
    for i in range(x.shape[0]):
        out[i] = x[i] * f + g


def passed_on(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        out[i] = t[i]


def by_first(x: po.f64["N"], s: po.f64["1"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        out[i] = s[0] * x[i]


def gathered(x: po.f64["N"], k: po.i64["M"], out: po.f64["M"]):
    for i in range(k.shape[0]):
        out[i] = x[k[i]]


def found(a: po.f64["N"], b: po.f64["N"], c: po.f64["N"]):
    for i in range(a.shape[0]):
        c[i] = b[i] * 2.0
    k = 0
    while k < 10 and a[k] > 0.0:
        k = k + 1
    for i in range(k):
        b[i] = a[i]


COPIED, SCALED, BY_FIRST = (only_loop(loops_of(f).body) for f in (copied, scaled, by_first))
ONCE = integer(1)


def once(name: str, *body: Any) -> For:
    """Return a loop of one iteration."""
    return For(name, integer(0), ONCE, 1, LoopKind.SEQUENTIAL, body)


def read_at(index: Expr) -> Body:
    """Return the loop that copies, reading at another subscript."""
    cell = element("x", I)
    return (changed(COPIED, lambda e: replace(cell, index=(index,)) if e == cell else None),)


@pytest.mark.parametrize("function", [copied, cleared, scaled, passed_on, by_first, gathered])
def test_the_source_itself_is_proven(function: object) -> None:
    assert not reasons(function, loops_of(function).body)


# -- names


def test_the_innermost_of_three_loops_of_one_name_counts() -> None:
    inner = replace(COPIED, body=(once("i", *COPIED.body),))
    assert not reasons(copied, (once("i", COPIED),))
    assert "twice" in reasons(copied, (once("i", inner),)) or "two" in reasons(
        copied, (once("i", inner),)
    )


def test_a_loop_hides_a_size() -> None:
    assert "does not run" in reasons(copied, (once("N", COPIED),))


def test_a_loop_hides_a_number_of_the_caller() -> None:
    hidden = replace(SCALED, body=(once("f", *SCALED.body),))
    assert "no such local" in reasons(scaled, (hidden,))


def test_an_array_hides_an_array() -> None:
    first, second = (n for n in loops_of(passed_on).body if isinstance(n, For))
    home = DeclareArray(Array("t", F64, (integer(64),), Role.TEMP))
    hiding = replace(second, body=(home, *second.body))
    assert "hides another" in reasons(passed_on, (first, hiding))


def test_memory_is_given_once_and_by_one_thread() -> None:
    loops = loops_of(passed_on)
    first, second = (n for n in loops.body if isinstance(n, For))
    given = AllocateArray(next(a for a in loops.arrays if a.name == "t"))
    anew = replace(second, body=(given, *second.body))
    early = replace(first, body=(given, *first.body))
    for body in ((first, anew), (first, given, second), (early, second)):
        assert "outside the body that declares it" in reasons(passed_on, body)
    assert not reasons(passed_on, (given, first, second))
    both = (*first.body, *second.body)
    own = replace(first, body=(given, *both))
    assert not reasons(passed_on, (own,))
    assert "at the same time" in reasons(passed_on, (replace(own, kind=LoopKind.PARALLEL),))


# -- nodes and expressions that print as something else


@pytest.mark.parametrize("step", [0, -1])
def test_a_loop_ends(step: int) -> None:
    assert "no progress" in reasons(copied, (replace(COPIED, step=step),))


@pytest.mark.parametrize("group", [0, -2, 8])
def test_only_blocks_are_in_groups(group: int) -> None:
    assert "in groups" in reasons(copied, (COPIED.annotated(group=group),))


@pytest.mark.parametrize("text", ["*/ out[0] = 5; /*", "a\nb", "ä"])
def test_a_comment_is_a_comment(text: str) -> None:
    assert not reasons(copied, (Comment("a line"), COPIED))
    assert "a comment" in reasons(copied, (Comment(text), COPIED))


def arithmetic(op: BinaryOp, left: Expr, right: Expr, dtype: DType = I64) -> Binary:
    return Binary(op, left, right, dtype)


BIG = integer(2**62)
WRAPPED = arithmetic(BinaryOp.MUL, arithmetic(BinaryOp.MOD, I, integer(-3)), BIG)


@pytest.mark.parametrize(
    ("index", "why"),
    [
        (arithmetic(BinaryOp.ADD, I, integer(0), DType.INT8), "64-bit"),
        (
            arithmetic(BinaryOp.ADD, arithmetic(BinaryOp.ADD, I, ONCE, DType.INT8), integer(-1)),
            "another type",
        ),
        (arithmetic(BinaryOp.MIN, I, integer(2**64)), "no int64"),
        (
            arithmetic(
                BinaryOp.FLOORDIV, Unary(UnaryOp.ABS, arithmetic(BinaryOp.MUL, I, BIG), I64), BIG
            ),
            "overflow",
        ),
        (
            arithmetic(BinaryOp.SUB, arithmetic(BinaryOp.ADD, I, WRAPPED), WRAPPED),
            "overflow",
        ),
        (
            arithmetic(
                BinaryOp.SUB,
                arithmetic(BinaryOp.ADD, I, integer(2**63 - 1)),
                integer(2**63 - 1),
            ),
            "overflow",
        ),
    ],
    ids=["narrow", "narrow inside", "too large", "absolute", "remainder", "sum"],
)
def test_subscripts_are_what_they_are_in_c(index: Expr, why: str) -> None:
    assert why in reasons(copied, read_at(index))


def test_vectors_have_one_length() -> None:
    value = Binary(
        BinaryOp.ADD, Broadcast(number(0.0), F64, 2), Broadcast(number(0.0), F64, 4), F64
    )
    assert "lanes" in reasons(copied, (Declare("v", F64, 4, value), COPIED))
    short = Declare("v", F64, 4, Broadcast(number(0.0), F64, 2))
    assert "lanes" in reasons(copied, (short, COPIED))


def test_copies_of_a_statement_differ_in_no_sign_of_a_zero() -> None:
    (assign,) = only_loop(loops_of(cleared).body).body

    def unrolled(*values: float) -> Body:
        nodes = (
            changed(assign, lambda e, n=n: integer(n) if isinstance(e, Iter) else None)
            for n in range(2)
        )
        return tuple(replace(n, value=number(v)) for n, v in zip(nodes, values, strict=True))

    assert not reasons(cleared, unrolled(0.0, 0.0))
    assert reasons(cleared, unrolled(0.0, -0.0))
    assert reasons(cleared, unrolled(-0.0, -0.0))


def test_arguments_keep_their_order() -> None:
    loops = loops_of(copied)
    turned = replace(loops, arrays=tuple(reversed(loops.arrays)))
    assert [c.reason for c in faults(copied, turned)] == ["its arrays are in another order"]


def test_no_statement_is_declared_open() -> None:
    opened = replace(loops_of(copied), reassociable=frozenset({"S0"}))
    assert faults(copied, opened)


def test_numbers_that_are_no_integers_have_no_order_to_rely_on() -> None:
    """Both `not f < g` and `not f >= g` hold for a NaN."""
    f, g = local("f"), local("g")
    untrue = [Unary(UnaryOp.INVERT, Compare(op, f, g), DType.BOOL)
              for op in (CompareOp.LT, CompareOp.GE)]  # fmt: skip
    home = DeclareArray(Array("c", F64, (integer(4),), Role.TEMP))
    outside = Assign(element("c", integer(10**9)), number(1.0))
    body = (home, If(untrue[0], (If(untrue[1], (outside,)),)), SCALED)
    assert "bounds of c" in reasons(scaled, body)


# -- threads


def test_what_threads_combine_starts_anew_in_each_of_them() -> None:
    """A local in `reduction` is zero in every thread: nothing may read it there."""
    acc, cell = local("acc"), element("s", integer(0))
    reading = changed(BY_FIRST, lambda e: acc if e == cell else None)
    assert isinstance(reading, For)
    start = Declare("acc", F64, 1, cell)
    for kind in (LoopKind.PARALLEL, LoopKind.VECTOR):
        shared = replace(reading, kind=kind)
        assert not reasons(by_first, (start, shared))
        combined = shared.annotated(reductions=((BinaryOp.ADD, acc),))
        assert "more than combine" in reasons(by_first, (start, combined))


def test_copies_are_not_made_by_several_threads_at_once() -> None:
    home = DeclareArray(Array("c", F64, (integer(4),), Role.TEMP))
    first = element("c", integer(0))
    fill = replace(
        COPIED, iter="k", kind=LoopKind.PARALLEL, body=(Assign(first, element("s", integer(0))),)
    )
    reading = changed(BY_FIRST, lambda e: first if e == element("s", integer(0)) else None)
    for body in ((home, fill, reading), (home, fill, BY_FIRST)):
        assert not reasons(by_first, marked(body, "k", LoopKind.SEQUENTIAL)) or body[2] is reading
        assert "iterations share c" in reasons(by_first, body)


# -- faults, and what belongs to other parts


def fault_of(value: int) -> Assign:
    array = next(a for a in loops_of(gathered).arrays if a.role is Role.FAULT)
    return Assign(Load(array.name, (integer(0),), array.dtype), Const(value, array.dtype))


@pytest.mark.parametrize("value", [0, 1])
def test_faults_are_noted_by_the_source_alone(value: int) -> None:
    body = loops_of(gathered).body
    assert "faults" in reasons(gathered, (*body, fault_of(value)))


def test_a_stop_names_the_fault_that_was_noted() -> None:
    body = loops_of(gathered).body
    noted = Compare(CompareOp.NE, fault_of(0).target, Const(0, DType.UINT8))
    assert not reasons(gathered, (*body, If(noted, (Fail(0),))))
    assert reasons(gathered, (*body, If(noted, (Fail(1),))))


def in_sequence(node: Node) -> Node:
    return replace(node, kind=LoopKind.SEQUENTIAL) if isinstance(node, For) else node


def test_what_is_data_is_read_by_the_source_alone() -> None:
    """Subscripts that are data are guarded where the source has them."""
    body, there = loops_of(gathered).body, below(integer(0), Param("M"))
    assert not reasons(gathered, body)
    far = element("x", element("k", integer(0), dtype=I64))
    home = DeclareArray(Array("c", F64, (integer(4),), Role.TEMP))
    copy = Assign(element("c", integer(0)), far)
    for extra in ((home, If(there, (copy,))), (If(there, (Declare("w", F64, 1, far),)),)):
        assert "no such access" in reasons(gathered, (*extra, *body))
    chain = (Declare("w", F64, 1, far), Declare("v", F64, 1, local("w")))
    assert "no such access" in reasons(gathered, (If(there, chain), *body))


def test_a_part_sets_only_what_it_has() -> None:
    program = program_of(found)
    loops = compile_program(program, Options(), MACHINE).loops
    loops = replace(loops, body=edited(loops.body, in_sequence))
    last = only_loop(loops.body)
    assert certify(program, loops).is_proven
    (size,) = {p.name for p in walk(last.upper) if isinstance(p, Param | Symbol)}
    strangers = (
        SetLocal(size, I64, 1, integer(0)),
        If(below(integer(0), SIZE), (Assign(element("c", integer(0)), number(1.0)),)),
    )
    for stranger in strangers:
        for where in ((stranger, last), (replace(last, body=(stranger, *last.body)),)):
            body = edited(loops.body, lambda n, to=where: to if n == last else n)
            assert not certify(program, replace(loops, body=body)).is_proven


def largest(x: po.f64["N"], out: po.f64["1"]):
    for i in range(x.shape[0]):
        out[0] = x[i] if x[i] > out[0] else out[0]


def test_lanes_choose_what_is_combined_behind_them() -> None:
    acc, x, cell = local("acc"), Load("x", (I,), F64), element("out", integer(0))
    loop = only_loop(loops_of(largest).body)
    made = loop.body[0]
    assert isinstance(made, Assign)
    for op, kind, proven in (
        (CompareOp.GT, BinaryOp.MAX, "concurrency"),
        (CompareOp.GT, BinaryOp.MIN, "more than combine"),
        (CompareOp.LT, BinaryOp.MAX, "more than combine"),
    ):
        value = Select(Compare(op, x, acc), x, acc, F64)
        inner = replace(
            loop,
            kind=LoopKind.VECTOR,
            body=(SetLocal("acc", F64, 1, value, made.statement, made.instance),),
        ).annotated(reductions=((kind, acc),))
        body = (Declare("acc", F64, 1, cell), inner, Assign(cell, acc))
        assert proven in reasons(largest, body)
