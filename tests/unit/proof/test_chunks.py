# ruff: noqa: F821, UP037
"""Chunks of neighbouring iterations merge into one loop; omitted iterations are found."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Load, Param, add, integer, mul
from polyopt.ir.loops import Assign, Body, For, If, LoopKind, Node
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType
from polyopt.proof import certify
from polyopt.proof.chunks import without_chunks
from polyopt.proof.paths import Path
from polyopt.schedule import source_schedule
from polyopt.transforms import parse_steps
from tests.gpu.passes.programs import program_of
from tests.unit.proof.edits import edited

PATH = Path(("N",), isl.Set("[N] -> { : N >= 0 }").params())
N = Param("N")


def least(one: Expr, other: Expr) -> Expr:
    return Binary(BinaryOp.MIN, one, other, DType.INT64)


def chunks(
    *, kind: LoopKind = LoopKind.THREAD, between: LoopKind | None = None, more: int = 0
) -> For:
    """Return a loop over chunks of 4 iterations that sets `a[i]`."""
    first = mul(integer(4), Iter("c"))
    one = Assign(Load("a", (Iter("i"),), DType.FLOAT64), Const(0.0, DType.FLOAT64), "S0")
    end = least(add(first, integer(4 + more)), N)
    body: Body = (For("i", first, end, 1, LoopKind.SEQUENTIAL, (one,)),)
    if between is not None:
        body = (For("t", integer(0), integer(3), 1, between, body),)
    count = Binary(BinaryOp.FLOORDIV, add(N, integer(3)), integer(4), DType.INT64)
    return For("c", integer(0), count, 1, kind, body)


def loops(body: Body) -> list[tuple[str, LoopKind]]:
    return [(n.iter, n.kind) for n in all_nodes(body) if isinstance(n, For)]


def test_one_loop() -> None:
    body = without_chunks((chunks(),), PATH)
    assert loops(body) == [("i", LoopKind.THREAD)]
    assert not any(isinstance(node, If) for node in all_nodes(body))


def test_chunks_that_do_not_run_are_left_out() -> None:
    short = replace(chunks(), upper=integer(2))
    (loop,) = without_chunks((short,), PATH)
    assert isinstance(loop, For)
    (test,) = loop.body
    assert isinstance(test, If)
    reached = PATH.into(loop, 0).into(test, 0).domain
    assert reached.is_equal(isl.Set("[N] -> { [i] : 0 <= i < N and i < 8 }"))


def test_a_loop_across_threads_may_stand_between() -> None:
    body = without_chunks((chunks(between=LoopKind.THREAD),), PATH)
    assert loops(body) == [("t", LoopKind.THREAD), ("i", LoopKind.THREAD)]


@pytest.mark.parametrize(
    "loop",
    [
        chunks(kind=LoopKind.SEQUENTIAL),
        chunks(between=LoopKind.SEQUENTIAL),  # it orders iterations of different chunks
        chunks(more=1),
        chunks(more=-1),
    ],
)
def test_left_as_they_are(loop: For) -> None:
    assert without_chunks((loop,), PATH) == (loop,)


def rows(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(1, A.shape[0] - 1):
        for j in range(A.shape[1]):
            B[i, j] = A[i - 1, j] + A[i + 1, j]


def refused(body: Body) -> bool:
    return bool(certify(program_of(rows), replace(kernels(), body=body)).faults)


def kernels():
    steps = "tile(L0, 16, 8); tile(L0.point, 4, 1); threads(L0.point.tile); grid(L0.tile)"
    schedule = source_schedule(program_of(rows).scop).apply(*parse_steps(steps))
    return device_loops(lower(schedule, program_of(rows)))


def test_a_chunk_that_is_missing_is_refused() -> None:
    body = kernels().body
    assert not refused(body)

    def fewer(node: Node) -> Node:
        is_chunks = isinstance(node, For) and node.iter == "i_tile2"
        return replace(node, lower=add(node.lower, integer(1))) if is_chunks else node

    def longer(node: Node) -> Node:
        is_row = isinstance(node, For) and node.iter == "i"
        return replace(node, upper=add(node.upper, integer(1))) if is_row else node

    assert refused(edited(body, fewer))
    assert refused(edited(body, longer))
