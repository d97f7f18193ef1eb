"""Threads that combine, in the certificate: what is no sum of what they have is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, Symbol, add, integer
from polyopt.ir.loops import Assign, For, If, Kernel, LoopKind, Node
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType
from tests.gpu.passes.test_barriers import without_barrier
from tests.unit.proof.edits import F64, edited
from tests.unit.proof.test_kernels import body_of, refused

OTHER = Symbol("A", DType.FLOAT64)
NAMES = ("rows of blocks", "rows of warps")


def combining(change: Callable[[For], Node]) -> Callable[[Node], Node]:
    return lambda node: change(node) if isinstance(node, For) and node.reductions else node


def updates(change: Callable[[Assign], Assign]) -> Callable[[Node], Node]:
    """Return an edit of what threads combine by."""

    def inside(loop: For) -> Node:
        return replace(loop, body=edited(loop.body, each))

    def each(node: Node) -> Node:
        return change(node) if isinstance(node, Assign) else node

    return combining(inside)


def with_target(node: Assign, index: Callable[[tuple[Expr, ...]], tuple[Expr, ...]]) -> Assign:
    """Return an update of another element."""
    assert isinstance(node.target, Load)
    assert isinstance(node.value, Binary)
    target = replace(node.target, index=index(node.target.index))
    return replace(node, target=target, value=replace(node.value, left=target))


def other_operator(loop: For) -> For:
    """Return the loop with another operation, told alike by its reduction."""

    def each(node: Node) -> Node:
        if isinstance(node, Assign):
            assert isinstance(node.value, Binary)
            return replace(node, value=replace(node.value, op=BinaryOp.MUL))
        return node

    reductions = tuple((BinaryOp.MUL, local) for _, local in loop.reductions)
    return replace(loop, body=edited(loop.body, each)).annotated(reductions=reductions)


def of_others(node: Assign) -> Assign:
    assert isinstance(node.value, Binary)
    return replace(node, value=replace(node.value, right=Load("A", (integer(0),) * 2, F64)))


def halved(node: Node) -> Node:
    return replace(node, threads=node.threads // 4 * 3) if isinstance(node, Kernel) else node


EDITS: dict[str, Callable[[Node], Node]] = {
    "without its reduction": combining(lambda loop: loop.annotated(reductions=())),
    "by another operation than it says": combining(
        lambda loop: loop.annotated(reductions=((BinaryOp.MUL, loop.reductions[0][1]),))
    ),
    "by another operation": combining(other_operator),
    "into another array than it says": combining(
        lambda loop: loop.annotated(
            reductions=((loop.reductions[0][0], Symbol("A", DType.FLOAT64)),)
        )
    ),
    "of twice as many places": combining(lambda loop: loop.annotated(lanes=64)),
    "of a number of places that is no power of two": combining(
        lambda loop: loop.annotated(lanes=24 if loop.upper == integer(2) else 33)
    ),
    "with a step": combining(lambda loop: replace(loop, step=2)),
    "without the last one": combining(
        lambda loop: replace(loop, upper=add(loop.upper, integer(-1)))
    ),
    "without the first one": combining(
        lambda loop: replace(loop, lower=add(loop.lower, integer(1)))
    ),
    "into an element of its own": updates(
        lambda node: with_target(node, lambda index: (*index[:-1], Iter("j_lane_join")))
    ),
    "into the next element": updates(
        lambda node: with_target(node, lambda index: (*index[:-1], add(index[-1], integer(1))))
    ),
    "twice": updates(
        lambda node: (
            replace(node, value=replace(node.value, right=add(node.value.right, integer(1))))
            if isinstance(node.value, Binary)
            else node
        )
    ),
    "of fewer threads": halved,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edit", EDITS)
def test_what_threads_combine(name: str, edit: str) -> None:
    body = edited(body_of(name), EDITS[edit])
    assert body != body_of(name)
    assert refused(name, body)


@pytest.mark.parametrize("name", NAMES)
def test_neutral_elements_are_needed(name: str) -> None:
    """Without one of the partial results' starts, or with another number there, it is no sum."""
    body = body_of(name)
    starts = [n for n in all_nodes(body) if isinstance(n, Assign) and not n.statement]
    starts = [n for n in starts if not isinstance(n.value, Binary)]
    assert starts
    for start in starts:
        wrong = replace(start, value=integer(1))
        assert refused(name, edited(body, lambda n, s=start: () if n == s else n)), start
        assert refused(name, edited(body, lambda n, s=start, w=wrong: w if n == s else n)), start


@pytest.mark.parametrize("name", NAMES)
def test_barriers_are_needed(name: str) -> None:
    count = 2 if name == "rows of blocks" else 1
    for number in range(count):
        reason = refused(name, without_barrier(body_of(name), number))
        assert reason.startswith("synchronisation"), number


def test_data_may_not_tell_who_combines() -> None:
    def change(loop: For) -> Node:
        test = next(n for n in all_nodes(loop.body) if isinstance(n, Assign)).value
        assert isinstance(test, Binary)
        condition = replace(test, op=BinaryOp.AND, left=test.right, dtype=DType.BOOL)
        return replace(loop, body=(If(condition, loop.body),))

    assert refused("rows of warps", edited(body_of("rows of warps"), combining(change)))


def test_loops_of_lanes_do_not_stand_in_kernels() -> None:
    change = combining(lambda loop: replace(loop, kind=LoopKind.LANE).annotated(reductions=()))
    assert "a lane loop" in refused("rows of blocks", edited(body_of("rows of blocks"), change))
