"""Unrolled loops are rerolled, look-alikes are not. Lanes become loops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from polyopt.ir.expr import Broadcast, Expr, Iter, Symbol, VectorLoad, add, integer, mul
from polyopt.ir.loops import Assign, Declare, For, If, LoopKind, Node, show_body
from polyopt.ir.types import DType
from polyopt.proof.certification import one_lane
from polyopt.proof.rerolling import reroll
from tests.unit.proof.edits import F64, SIZE, I, below, element, local, number


def names() -> Iterator[str]:
    return (f"${n}" for n in itertools.count())


def put(
    index: Expr, source: Expr | None = None, *, statement: str = "S", tag: Expr | None = None
) -> Assign:
    value = element("x", index) if source is None else source
    return Assign(element("a", index), value, statement, (index if tag is None else tag,))


def at(number_: int) -> Expr:
    return add(I, integer(number_))


def shown(*body: Node) -> list[str]:
    return show_body(reroll(body, names()))


def test_copies_become_a_loop() -> None:
    (loop,) = reroll(tuple(put(at(2 * n)) for n in range(4)), names())
    assert isinstance(loop, For)
    assert loop.kind is LoopKind.UNROLL
    (inner,) = loop.body
    assert isinstance(inner, Assign)
    copy = Iter(loop.iter)
    assert (loop.lower, loop.upper, loop.step) == (integer(0), integer(4), 1)
    assert inner.instance == (add(I, mul(integer(2), copy)),)


def test_copies_of_several_nodes_become_a_loop() -> None:
    pairs = [
        (put(at(n)), Assign(element("b", integer(7)), element("x", at(3 * n)))) for n in range(3)
    ]
    assert shown(*itertools.chain(*pairs)) == [
        "for $0 in range(0, 3):  # unroll",
        "    a[i + $0] = x[i + $0]",
        "    b[7] = x[i + 3 * $0]",
    ]


@pytest.mark.parametrize(
    "second",
    [
        put(at(1), number(0.0)),
        put(at(1), statement="T"),
        put(mul(integer(2), at(1))),
        put(SIZE),
        replace(put(at(1)), target=element("b", at(1))),
        put(at(1), element("y", at(1))),
        put(at(1), element("x", at(1), dtype=DType.FLOAT32)),
        If(below(I, SIZE), (put(at(1)),)),
    ],
    ids=["value", "statement", "factor", "size", "target", "source", "type", "condition"],
)
def test_what_is_no_copy_stays(second: Node) -> None:
    assert not any(isinstance(node, For) for node in reroll((put(at(0)), second), names()))


def test_uneven_steps_are_not_one_loop() -> None:
    found = reroll(tuple(put(at(n)) for n in (0, 1, 3)), names())
    assert [type(node) for node in found] == [For, Assign]
    assert show_body(found)[-1] == "a[i + 3] = x[i + 3]"


def test_an_order_that_is_mixed_is_not_one_loop() -> None:
    assert all(isinstance(n, Assign) for n in reroll((put(at(0)), put(at(2), at(1))), names()))


def test_zeros_of_both_signs_are_no_copies() -> None:
    zeros = (put(at(0), number(0.0)), put(at(1), number(-0.0)))
    assert all(isinstance(node, Assign) for node in reroll(zeros, names()))
    assert isinstance(reroll((zeros[1], put(at(2), number(-0.0))), names())[0], For)


def inner(number_: int, **changes: object) -> For:
    body = (put(add(Iter("j"), at(number_))),)
    loop = For("j", integer(0), SIZE, 1, LoopKind.SEQUENTIAL, body)
    return replace(loop, **changes)


def test_loops_are_copies_of_loops() -> None:
    assert shown(inner(0), inner(1))[0] == "for $0 in range(0, 2):  # unroll"
    renamed = For("k", integer(0), SIZE, 1, LoopKind.SEQUENTIAL, (put(add(Iter("k"), at(1))),))
    assert shown(inner(0), renamed)[0] == "for $0 in range(0, 2):  # unroll"


@pytest.mark.parametrize(
    "change",
    [{"kind": LoopKind.PARALLEL}, {"step": 2}, {"upper": mul(integer(2), SIZE)}],
    ids=["kind", "step", "bound"],
)
def test_other_loops_are_no_copies(change: dict[str, object]) -> None:
    assert len(reroll((inner(0), inner(1, **change)), names())) == 2


def test_locals_are_never_rerolled() -> None:
    body = tuple(Declare(f"w{n}", F64, 1, element("x", at(n))) for n in range(3))
    assert reroll(body, names()) == body


# -- lanes


def vector(array: str, index: Expr, lanes: int = 4) -> VectorLoad:
    return VectorLoad(array, (index,), F64, lanes)


def test_lanes_are_a_loop_of_their_own() -> None:
    node = Assign(vector("a", at(1)), vector("x", I), "S", (I,), (1,))
    assert show_body(one_lane((node,), names())) == [
        "for $0 in range(0, 4):  # vector",
        "    a[i + 1 + $0] = x[i + $0]",
    ]
    (loop,) = one_lane((node,), names())
    assert isinstance(loop, For)
    (lane,) = loop.body
    assert isinstance(lane, Assign)
    assert lane.instance == (add(I, Iter("$0")),)


def test_every_lane_has_the_broadcast_value() -> None:
    value = Broadcast(element("x", I), F64, 4)
    found = show_body(one_lane((Assign(vector("a", I), value, "S", (I,), (0,)),), names()))
    assert found[1] == "    a[i + $0] = x[i]"
    wide = Assign(vector("a", I), Symbol("v", F64, 4), "S", (I,), (1,))
    assert show_body(one_lane((wide,), names()))[1] == "    a[i + $0] = v"


def test_lanes_without_steps_are_no_instances() -> None:
    (loop,) = one_lane((Assign(vector("a", I), vector("x", I), "S", (I,)),), names())
    assert isinstance(loop, For)
    (lane,) = loop.body
    assert isinstance(lane, Assign)
    assert not lane.statement


def test_other_nodes_stay() -> None:
    body = (put(I), Declare("w", F64, 1, local("v")))
    assert one_lane(body, names()) == body
