"""Locals that only move values are undone; those that might not are left as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    VectorLoad,
    add,
    integer,
)
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, SetLocal, show_body
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame
from polyopt.proof.paths import Path
from polyopt.proof.registers import without_registers
from tests.unit.proof.edits import F64, SIZE, U8, I, J, below, element, local, number, where

PARAMS = ("N", "M")
TOP = Path(PARAMS, Frame(PARAMS).universe.params())
W, ACC = local("w"), local("acc")
A0, B0 = element("a", integer(0)), element("b", integer(0))


def undone(*body: object, keep: frozenset[str] = frozenset()) -> list[str]:
    return show_body(without_registers(tuple(body), TOP, keep))


def plus(left: Expr, right: Expr) -> Binary:
    return Binary(BinaryOp.ADD, left, right, F64)


def loop(
    *body: object, name: str = "i", reductions: tuple[object, ...] = (), **changes: object
) -> For:
    made = For(name, integer(0), SIZE, 1, LoopKind.SEQUENTIAL, body)
    return replace(made, **changes).annotated(reductions=reductions)


def declared(value: Expr, name: str = "w", **changes: object) -> Declare:
    return replace(Declare(name, F64, 1, value), **changes)


def put(value: Expr, target: Load | VectorLoad = B0) -> Assign:
    return Assign(target, value)


def adding(value: Expr, statement: str = "S") -> SetLocal:
    return SetLocal("acc", F64, 1, plus(ACC, value), statement, (I,))


# -- values


def test_a_value_is_put_where_it_is_used() -> None:
    assert undone(declared(A0), put(plus(W, W))) == ["b[0] = a[0] + a[0]"]


def test_a_value_of_a_value_is_put_where_it_is_used() -> None:
    v = declared(plus(W, number(1.0)), "v")
    assert undone(declared(A0), v, put(local("v"))) == ["b[0] = a[0] + 1.0"]


@pytest.mark.parametrize(
    ("between", "goes"),
    [
        (put(number(1.0), element("a", integer(0))), False),
        (put(number(1.0), element("a", integer(1))), True),
        (put(number(1.0), element("a", SIZE)), False),
        (loop(put(number(1.0), element("a", add(I, integer(1))))), True),
        (loop(put(number(1.0), element("a", I))), False),
        (where(below(A0, B0), put(number(1.0), A0)), False),
        (put(number(1.0), element("c", integer(0))), True),
    ],
    ids=["same", "other", "perhaps", "others", "among", "conditional", "elsewhere"],
)
def test_a_value_stays_where_its_element_may_change(between: object, goes: bool) -> None:
    after = undone(declared(A0), between, put(W))
    assert ("b[0] = a[0]" in after) is goes
    assert ("w = a[0]" in after) is not goes


def test_a_change_after_the_last_use_does_not_matter() -> None:
    assert undone(declared(A0), put(W), put(number(1.0), A0))[0] == "b[0] = a[0]"


def test_a_value_of_a_local_that_is_set_again_stays() -> None:
    t = local("t")
    body = (
        declared(A0, "t"),
        declared(plus(t, t)),
        SetLocal("t", F64, 1, number(0.0)),
        put(W),
    )
    assert "b[0] = w" in undone(*body)


def test_names_of_sizes_and_values_of_statements_stay() -> None:
    assert "w = a[0]" in undone(declared(A0), put(W), keep=frozenset({"w"}))
    assert "w = a[0]" in undone(declared(A0, statement="S"), put(W))


def test_half_a_vector_changes() -> None:
    four = VectorLoad("a", (integer(0),), F64, 4)
    w = declared(four, lanes=4)
    far = put(number(1.0), element("a", integer(4)))
    near = put(number(1.0), element("a", integer(3)))
    use = put(Symbol("w", F64, 4), VectorLoad("b", (integer(0),), F64, 4))
    assert len(undone(w, far, use)) == 2
    assert len(undone(w, near, use)) == 3


# -- accumulators


def summed(*inside: object, cell: Expr = A0, **changes: object) -> Body:
    return (
        declared(cell, "acc"),
        loop(adding(element("x", I)), *inside, **changes),
        put(ACC, cell),
    )


def in_place(*body: object) -> bool:
    """Tell whether sums go to the element; the load and the store are gone then."""
    lines = undone(*body)
    assert any("acc" in line for line in lines) is not ("a[0] = a[0] + x[i]" in str(lines))
    return not any("acc" in line for line in lines)


def test_sums_go_to_the_element() -> None:
    assert undone(*summed()) == ["for i in range(0, N):", "    a[0] = a[0] + x[i]"]


@pytest.mark.parametrize(
    ("other", "goes"),
    [
        (put(number(0.0), A0), False),
        (put(A0, B0), False),
        (put(number(0.0), element("a", I)), False),
        (put(number(0.0), element("a", add(I, integer(1)))), True),
        (put(ACC, B0), True),
        (put(number(0.0), B0), True),
    ],
    ids=["written", "read", "among", "others", "value", "elsewhere"],
)
def test_sums_stay_where_the_element_is_used_as_well(other: object, goes: bool) -> None:
    assert in_place(*summed(other)) is goes


def test_sums_stay_where_the_store_goes_elsewhere_or_is_not_the_end() -> None:
    start, adds, store = summed()
    assert not in_place(start, adds, put(ACC, element("a", integer(1))))
    assert not in_place(start, adds, store, put(ACC, B0))
    assert not in_place(start, adds, where(below(A0, B0), store))
    assert not in_place(start, adds)


def test_sums_stay_where_the_element_is_another_one_later() -> None:
    cell = element("a", Load("k", (integer(0),), DType.INT64))
    moved = Assign(Load("k", (integer(0),), DType.INT64), integer(1))
    assert not any("acc" in line for line in undone(*summed(cell=cell)))
    assert any("acc" in line for line in undone(*summed(moved, cell=cell)))


def within(body: Body, kind: LoopKind) -> list[str]:
    return undone(loop(*body, name="j", kind=kind))


@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.VECTOR])
def test_an_element_is_written_by_threads_even_if_nothing_was_added(kind: LoopKind) -> None:
    """A sum of no iterations still stores its element: other threads must not touch it."""
    never = summed(cell=element("a", J), upper=Param("M"))
    assert "acc" not in str(within(never, LoopKind.SEQUENTIAL))
    assert "acc" in str(within(never, kind))
    always = summed(cell=element("a", J), upper=integer(4))
    assert "acc" not in str(within(always, kind))
    start, adds, store = always
    sometimes = (start, where(below(A0, B0), adds), store)
    assert "acc" in str(within(sometimes, kind))


def test_what_threads_combine_names_the_array() -> None:
    body = summed(kind=LoopKind.PARALLEL, reductions=((BinaryOp.ADD, ACC),))
    (found,) = without_registers(body, TOP, frozenset())
    assert isinstance(found, For)
    assert [(op, s.name) for op, s in found.reductions] == [(BinaryOp.ADD, "a")]


# -- collected conditions

BAD, NOTED = local("bad", DType.INT32), Load("faults", (integer(0),), U8)


def flagged(**changes: object) -> Body:
    zero = Const(0, DType.INT32)
    condition = Compare(CompareOp.LT, element("x", I), number(0.0))
    joined = Binary(BinaryOp.OR, BAD, Cast(condition, DType.INT32), DType.INT32)
    sets = loop(SetLocal("bad", DType.INT32, 1, joined, "S", (I,)), **changes)
    noted = If(Compare(CompareOp.NE, BAD, zero), (Assign(NOTED, Const(1, U8)),))
    return (Declare("bad", DType.INT32, 1, zero), sets, noted)


SCATTERED = ["for i in range(0, N):", "    if x[i] < 0.0:", "        faults[0] = 1"]


def test_a_flag_is_the_assignment_it_decides_on() -> None:
    assert undone(*flagged()) == SCATTERED


def test_threads_combine_their_flags() -> None:
    alone = flagged(kind=LoopKind.PARALLEL)
    assert any("bad" in line for line in undone(*alone))
    together = flagged(kind=LoopKind.PARALLEL, reductions=((BinaryOp.OR, BAD),))
    assert not any("bad" in line for line in undone(*together))
    wrong = flagged(kind=LoopKind.PARALLEL, reductions=((BinaryOp.ADD, BAD),))
    assert any("bad" in line for line in undone(*wrong))


def test_a_flag_stays_that_is_used_otherwise() -> None:
    start, sets, noted = flagged()
    seen = Assign(Load("seen", (integer(0),), DType.INT32), BAD)
    reset = Assign(NOTED, Const(0, U8))
    assert "bad" in str(undone(start, sets, noted, seen))
    assert "bad" in str(undone(start, sets, seen, noted))
    assert "bad" in str(undone(start, sets, reset, noted))
    assert "bad" in str(undone(replace(start, value=Const(1, DType.INT32)), sets, noted))
    assert "bad" in str(undone(start, noted, sets))
    moving = If(noted.condition, (Assign(replace(NOTED, index=(Iter("k"),)), Const(1, U8)),))
    assert "bad" in str(undone(start, sets, moving))
