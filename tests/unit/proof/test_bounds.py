"""Accesses inside their arrays; index arithmetic inside 64 bits."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Cast,
    Compare,
    CompareOp,
    Expr,
    Select,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    integer,
    sub,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import LARGEST_SIZE
from polyopt.ir.types import DType
from polyopt.proof import Verdict
from polyopt.proof.bounds import check_bounds
from polyopt.proof.certification import context_of
from polyopt.proof.widths import check_widths
from tests.unit.proof.edits import (
    F64,
    I64,
    SIZE,
    I,
    below,
    element,
    local,
    loops_of,
    number,
    program_of,
    where,
)

# ruff: noqa: F821, UP037 - sizes are named by strings

BOOL = DType.BOOL


def plain(a: po.f64["N"], k: po.i64["N"], b: po.u8["N"]):
    for i in range(a.shape[0]):
        a[i] = a[i] + float(k[i]) + float(b[i])


LOOPS = loops_of(plain)
TEMP = Array("t", I64, (SIZE,), Role.TEMP)


def verdict(*body: Node, array: str = "a", arrays: tuple[Array, ...] = ()) -> Verdict:
    """Return what is found of the accesses to `array`."""
    program = program_of(plain)
    function = replace(LOOPS, body=body, arrays=(*LOOPS.arrays, *arrays))
    given = {a.name: a for a in program.arrays}
    claims = check_bounds(function, given, function.params, context_of(program))
    return next(claim.verdict for claim in claims if claim.subject == array)


ZERO, ONE = integer(0), integer(1)


def loop(*body: Node, lower: Expr = ZERO, upper: Expr = SIZE, step: int = 1) -> For:
    return For("i", lower, upper, step, LoopKind.SEQUENTIAL, body)


def use(index: Expr, lanes: int = 1) -> Node:
    """Return a node that writes element `index` of `a`."""
    if lanes == 1:
        return Assign(element("a", index), number(0.0))
    return Assign(VectorLoad("a", (index,), F64, lanes), Broadcast(number(0.0), F64, lanes))


def every_second(index: Expr) -> Node:
    """Return a node that reads four elements of `a` from `index` on, every second one."""
    return Assign(VectorLoad("a", (ZERO,), F64, 4), VectorLoad("a", (index,), F64, 4, 2))


def op(kind: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(kind, left, right, I64)


def both(left: Expr, right: Expr) -> Expr:
    return Binary(BinaryOp.AND, left, right, BOOL)


def inside(index: Expr) -> Expr:
    return both(Compare(CompareOp.GE, index, integer(0)), below(index, SIZE))


def negated(condition: Expr) -> Expr:
    return Unary(UnaryOp.INVERT, condition, BOOL)


K = element("k", I, dtype=I64)
FAIL = Fail(0)
T = element("t", I, dtype=I64)
EIGHT = op(BinaryOp.MUL, op(BinaryOp.FLOORDIV, SIZE, integer(8)), integer(8))

POSITIVE = Compare(CompareOp.GT, element("a", I), number(0.0))
CHOSEN = Select(negated(POSITIVE), add(I, integer(1)), sub(SIZE, I), I64)

PROVEN = {
    "loop": loop(use(I)),
    "reversed": loop(use(sub(sub(SIZE, I), integer(1)))),
    "step": loop(use(add(I, integer(1))), upper=sub(SIZE, integer(1)), step=2),
    "lanes": loop(use(I, 8), upper=EIGHT, step=8),
    "every second": loop(every_second(I), lower=integer(3), upper=sub(SIZE, integer(6))),
    "remainder": loop(use(I), lower=EIGHT),
    "guard": loop(where(inside(K), use(K))),
    "early exit": loop(where(negated(inside(K)), FAIL), use(K)),
    "left": loop(where(negated(inside(K)), Break()), use(K)),
    "clamped": where(
        below(integer(0), SIZE),
        loop(use(op(BinaryOp.MAX, op(BinaryOp.MIN, K, sub(SIZE, integer(1))), integer(0)))),
    ),
    "local": loop(
        Declare("w", I64, 1, sub(I, integer(1))), where(below(ZERO, I), use(local("w", I64)))
    ),
    "select": loop(
        Assign(element("a", I), Select(inside(K), element("a", K), number(0.0), F64))
    ),
    "choice by data": loop(use(Select(POSITIVE, I, ZERO, I64))),
    "choice by data that a guard tests": loop(
        where(inside(CHOSEN), Assign(K, Cast(element("a", CHOSEN), I64)))
    ),
    "exit where data say so": loop(
        where(POSITIVE, where(negated(inside(K)), FAIL)), where(POSITIVE, use(K))
    ),
    "exit by data and subscript": loop(
        where(both(POSITIVE, negated(inside(K))), FAIL), where(POSITIVE, use(K))
    ),
    "exits in a choice": loop(
        where(
            POSITIVE,
            where(below(K, ZERO), FAIL),
            Declare("w", I64, 1, I),
            where(negated(below(K, SIZE)), FAIL),
        ),
        where(POSITIVE, use(K)),
    ),
    "masked": where(
        below(integer(7), SIZE),
        loop(use(op(BinaryOp.AND, K, integer(7)))),
    ),
    "byte": where(
        below(integer(255), SIZE), loop(use(Cast(element("b", I, dtype=DType.UINT8), I64)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_inside(name: str) -> None:
    assert verdict(PROVEN[name]) is Verdict.PROVEN


def changing(*nodes: Node) -> For:
    """Return a loop that tests `k[i]`, does `nodes` and uses `k[i]`."""
    return loop(where(inside(K), *nodes, use(K)))


SET_K = Assign(K, integer(-1))
ALL_K = LOOPS.arrays[1]
assert ALL_K.name == "k"
W = local("w", I64)

OPEN = {
    "upper": loop(use(I), upper=add(SIZE, integer(1))),
    "lower": loop(use(I), lower=integer(-1)),
    "moved": loop(use(add(I, integer(1)))),
    "step": loop(use(add(I, integer(1))), step=2),
    "lanes": loop(use(I, 8), step=8),
    "one more lane": loop(use(I, 9), upper=EIGHT, step=8),
    "every second": loop(every_second(I), lower=integer(3), upper=sub(SIZE, integer(5))),
    "data": loop(use(K)),
    "half a guard": loop(where(below(K, SIZE), use(K))),
    "else": loop(If(inside(K), (), (use(K),))),
    "changed by the branch": changing(SET_K),
    "changed in a loop": changing(
        For("j", integer(0), SIZE, 1, LoopKind.SEQUENTIAL, (use(K), SET_K))
    ),
    "changed by a call": loop(
        where(negated(inside(K)), FAIL), CallLibrary(0, (), (ALL_K,)), use(K)
    ),
    "changed after the exit": loop(where(negated(inside(K)), FAIL), SET_K, use(K)),
    "exit of an inner loop": loop(
        For("j", integer(0), SIZE, 1, LoopKind.SEQUENTIAL, (where(negated(inside(K)), Break()),)),
        use(K),
    ),
    "not an exit": loop(where(negated(inside(K)), SET_K), use(K)),
    "other element": loop(where(inside(K), use(element("k", add(I, integer(-1)), dtype=I64)))),
    "mask": where(below(integer(6), SIZE), loop(use(op(BinaryOp.AND, K, integer(7))))),
    "byte": where(
        below(integer(254), SIZE), loop(use(Cast(element("b", I, dtype=DType.UINT8), I64)))
    ),
    "byte with a sign": where(
        below(integer(255), SIZE),
        loop(use(Cast(Cast(element("b", I, dtype=DType.UINT8), DType.INT8), I64))),
    ),
    "select": loop(
        Assign(element("a", I), Select(inside(K), number(0.0), element("a", K), F64))
    ),
    "choice by data": loop(use(Select(POSITIVE, I, SIZE, I64))),
    "choice by data that changed": loop(
        where(inside(CHOSEN), Assign(element("a", I), number(0.0)), use(CHOSEN))
    ),
    "local of a choice by data that changed": loop(
        Declare("w", I64, 1, Select(POSITIVE, ZERO, integer(1), I64)),
        Assign(element("a", I), number(0.0)),
        use(op(BinaryOp.MUL, sub(W, Select(POSITIVE, ZERO, integer(1), I64)), SIZE)),
    ),
    "tested local that is set, and set again in a branch": loop(
        Declare("w", I64, 1, ZERO),
        If(Unary(UnaryOp.INVERT, inside(W), DType.BOOL), (Fail(0),)),
        SetLocal("w", I64, 1, SIZE),
        where(POSITIVE, use(W), SetLocal("w", I64, 1, ZERO)),
    ),
    "tested local that is set in a loop": loop(
        Declare("w", I64, 1, ZERO),
        If(Unary(UnaryOp.INVERT, inside(W), DType.BOOL), (Fail(0),)),
        replace(loop(use(W), SetLocal("w", I64, 1, SIZE)), iter="j"),
    ),
    "local of a local that is set": loop(
        Declare("w", I64, 1, ZERO),
        Declare("v", I64, 1, W),
        SetLocal("w", I64, 1, SIZE),
        where(inside(local("v", I64)), use(W)),
    ),
    "local that is set": (
        loop(
            Declare("w", I64, 1, integer(0)),
            where(inside(W), SetLocal("w", I64, 1, SIZE), use(W)),
        )
    ),
    "local of other iterations": loop(
        Declare("w", I64, 1, integer(0)),
        where(
            inside(W),
            replace(loop(use(W), SetLocal("w", I64, 1, SIZE)), iter="j"),
        ),
    ),
    "bound that the body changes": For(
        "i", integer(0), element("k", integer(0), dtype=I64), 1, LoopKind.SEQUENTIAL,
        (
            Assign(element("k", integer(0), dtype=I64), integer(0)),
            where(below(element("k", integer(0), dtype=I64), SIZE), use(I)),
        ),
    ),
    "exit where data say so, use everywhere": loop(
        where(POSITIVE, where(negated(inside(K)), FAIL)), use(K)
    ),
    "exit where data say so, use elsewhere": loop(
        where(POSITIVE, where(negated(inside(K)), FAIL)), where(negated(POSITIVE), use(K))
    ),
    "exit where data say so that changed": loop(
        where(POSITIVE, where(negated(inside(K)), FAIL)),
        Assign(element("a", I), number(1.0)),
        where(POSITIVE, use(K)),
    ),
    "exits in a choice, one too far": loop(
        where(
            POSITIVE, where(below(K, ZERO), FAIL), where(negated(below(K, add(SIZE, ONE))), FAIL)
        ),
        where(POSITIVE, use(K)),
    ),
    "exit in a choice that goes on": loop(
        where(POSITIVE, where(negated(inside(K)), Assign(element("a", I), number(1.0)))),
        where(POSITIVE, use(K)),
    ),
    "exit in a choice after a change": loop(
        where(POSITIVE, SET_K, where(negated(inside(K)), FAIL), Assign(K, SIZE)),
        where(POSITIVE, use(K)),
    ),
    "exit by a local of the choice": loop(
        Declare("w", I64, 1, K),
        where(POSITIVE, Declare("v", I64, 1, ZERO), where(negated(inside(local("v", I64))), FAIL)),
        where(POSITIVE, Declare("v", I64, 1, K), use(local("v", I64))),
    ),
    "while": While(below(K, SIZE), (use(element("k", integer(0), dtype=I64)),)),
    "products": loop(use(op(BinaryOp.MUL, I, I))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_may_leave_its_array(name: str) -> None:
    assert verdict(OPEN[name]) is not Verdict.PROVEN


def fill(value: Expr) -> For:
    return loop(Assign(T, value))


VECTOR = Assign(VectorLoad("t", (I,), I64, 4), Broadcast(SIZE, I64, 4))
READ_T = loop(Assign(element("a", I), element("a", T)))


@pytest.mark.parametrize(
    ("nodes", "is_inside"),
    [
        ((fill(I), READ_T), True),
        ((fill(sub(sub(SIZE, integer(1)), I)), READ_T), True),
        ((fill(add(I, integer(1))), READ_T), False),
        ((fill(I), fill(SIZE), READ_T), False),
        ((fill(K), READ_T), False),
        ((fill(I), CallLibrary(0, (), (TEMP,)), READ_T), False),
        ((loop(VECTOR, step=4), fill(I), READ_T), False),
    ],
    ids=["index", "reversed", "one more", "twice", "data", "library", "lanes"],
)  # fmt: skip
def test_what_a_temporary_holds(nodes: Body, is_inside: bool) -> None:
    found = verdict(*nodes, arrays=(TEMP,))
    assert (found is Verdict.PROVEN) is is_inside


def test_memory_of_the_loops_own_is_not_trusted() -> None:
    """What is found on the way is the source's own business, not that of new storage."""
    own = Array("w", F64, (integer(64),), Role.TEMP)
    index = op(BinaryOp.MUL, SIZE, SIZE)
    write = Assign(element("w", index), number(0.0))
    assert verdict(DeclareArray(own), write, array="w") is Verdict.OPEN
    assert verdict(use(index)) is Verdict.TRUSTED


# -- widths ------------------------------------------------------------------------------------


MOST = 2**62 // LARGEST_SIZE
"""An iterator times this is half of what fits."""


def times(index: Expr, factor: int) -> Expr:
    return op(BinaryOp.MUL, index, integer(factor))


def divided(index: Expr, by: int) -> Expr:
    return op(BinaryOp.FLOORDIV, index, integer(by))


def fits(*body: Node) -> bool:
    return check_widths(replace(LOOPS, body=body), ()).verdict is Verdict.PROVEN


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (loop(use(times(I, MOST))), True),
        (loop(use(times(I, 2 * MOST))), True),
        (loop(use(times(I, 2 * MOST + 1))), False),
        (loop(use(add(times(I, MOST), integer(2**62)))), True),
        (loop(use(add(times(I, MOST), integer(2**62 + 2 * MOST)))), False),
        (loop(use(sub(times(I, -2 * MOST), integer(2 * MOST + 1)))), False),
        (loop(use(I), upper=times(SIZE, 2 * MOST)), False),
        (loop(use(I), step=2**63), False),
        (loop(Assign(element("a", I), element("a", times(I, 2**40)))), False),
        (loop(Assign(element("a", times(I, 2**40)), number(0.0))), False),
        (loop(where(below(times(I, 2**40), SIZE), use(I))), False),
        (loop(where(both(below(times(I, 2**40), SIZE), below(K, SIZE)), use(I))), False),
        (loop(Declare("w", I64, 1, times(I, 2**40)), use(divided(W, 2**40))), False),
        (loop(Declare("w", I64, 1, times(I, MOST)), use(times(W, 2))), True),
        (loop(Declare("w", I64, 1, times(I, MOST)), use(times(W, 3))), False),
        (loop(use(Select(below(times(I, 2**40), SIZE), I, I, I64))), False),
        (loop(use(op(BinaryOp.MIN, I, times(SIZE, 2**40)))), False),
        (loop(use(op(BinaryOp.MOD, times(I, 2**40), integer(3)))), False),
        (loop(use(Unary(UnaryOp.NEG, times(I, 2 * MOST), I64))), True),
        (loop(use(divided(times(I, MOST), -1))), True),
        (loop(use(times(element("k", times(I, 2**40), dtype=I64), 2))), False),
        (loop(use(divided(times(times(I, MOST // 4), 2), 4))), True),
    ],
)  # fmt: skip
def test_no_step_overflows(node: Node, expected: bool) -> None:
    assert fits(node) is expected


def test_many_subscripts_that_may_be_negative_are_proven_one_by_one() -> None:
    """Each may be counted from the end or not: all together that are 2**24 cases."""
    body: list[Node] = []
    for number_ in range(24):
        start, name = element(f"k{number_}", integer(0), dtype=I64), f"w{number_}"
        value = Select(below(start, ZERO), add(start, SIZE), start, I64)
        body += [
            Declare(name, I64, 1, value),
            If(Unary(UnaryOp.INVERT, inside(local(name, I64)), DType.BOOL), (Fail(0),)),
            use(local(name, I64)),
        ]
    assert verdict(loop(*body)) is Verdict.PROVEN


@pytest.mark.parametrize("most, is_proven", [(1, True), (2, False)])
def test_a_fixed_element_where_an_iterator_is_not_zero(most: int, is_proven: bool) -> None:
    """An iteration number 1 says that there is an element number 1, and no other."""
    other = If(Compare(CompareOp.EQ, I, ZERO), (), (use(integer(most)),))
    assert (verdict(loop(other)) is Verdict.PROVEN) is is_proven
    assert verdict(loop(use(integer(most)))) is not Verdict.PROVEN
