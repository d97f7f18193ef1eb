"""Kernels in the certificate: what is not what it should be is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, add, integer
from polyopt.ir.loops import (
    Assign,
    Barrier,
    Body,
    DeclareArray,
    Fail,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
    Space,
)
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.types import DType
from polyopt.proof import certify
from tests.gpu.passes.programs import MAPPED, doubled, kernels_of, program_of
from tests.gpu.passes.test_barriers import count_barriers, without_barrier
from tests.unit.proof.edits import edited

TILES = "tile(L0, 8, 32); grid(L0.tile); threads(L0.point)"


def refused(name: str, body: Body) -> str:
    """Return why `body` is refused in place of the kernels of a program; "" where it is proven."""
    function, steps = MAPPED[name]
    fn = replace(kernels_of(function, steps), body=body)
    return "; ".join(
        f"{c.kind.value}: {c.reason}" for c in certify(program_of(function), fn).faults
    )


def body_of(name: str) -> Body:
    return kernels_of(*MAPPED[name]).body


@pytest.mark.parametrize("name", MAPPED)
def test_every_barrier_is_needed(name: str) -> None:
    body = body_of(name)
    assert refused(name, body) == ""
    assert count_barriers(body) > 0
    for number in range(count_barriers(body)):
        reason = refused(name, without_barrier(body, number))
        assert reason.startswith("synchronisation"), number


def test_a_warp_is_not_the_block() -> None:
    def change(node: Node) -> Node:
        return replace(node, scope=Scope.WARP) if isinstance(node, Barrier) else node

    assert "synchronisation" in refused("product", edited(body_of("product"), change))


def test_a_warp_is_enough_for_its_own_threads() -> None:
    body = body_of("sums of rows")
    assert {n.scope for n in all_nodes(body) if isinstance(n, Barrier)} == {Scope.WARP}


def at_barriers(body: Body, change: Callable[[Barrier], Iterable[Node]]) -> Body:
    return edited(body, lambda n: change(n) if isinstance(n, Barrier) else n)


def kernel_with(body: Body, change: Callable[[Kernel], Kernel]) -> Body:
    return edited(body, lambda n: change(n) if isinstance(n, Kernel) else n)


def test_other_numbers_of_threads() -> None:
    name = "product in registers"
    body = body_of(name)
    half = kernel_with(body, lambda k: replace(k, threads=k.threads // 2))
    assert refused(name, half)
    none = kernel_with(body, lambda k: replace(k, threads=0))
    assert "threads in a block" in refused(name, none)
    many = kernel_with(body, lambda k: replace(k, threads=2048))
    assert "threads in a block" in refused(name, many)


def test_registers_of_another_thread() -> None:
    name = "product in registers"

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == "C_pack":
            return replace(part, index=(add(part.index[0], integer(1)), *part.index[1:]))
        return None

    body = tuple(changed(node, rule) for node in body_of(name))
    assert refused(name, body)


@pytest.mark.parametrize(
    ("name", "array", "space"),
    [
        ("product", "A_pack", Space.LOCAL),
        ("product", "A_pack", Space.REGISTER),
        ("product in registers", "C_pack", Space.LOCAL),
    ],
)
def test_arrays_elsewhere(name: str, array: str, space: Space) -> None:
    def change(node: Node) -> Node:
        is_own = isinstance(node, DeclareArray) and node.array.name == array
        return replace(node, space=space) if is_own else node

    assert refused(name, edited(body_of(name), change))


def test_a_barrier_that_some_threads_miss() -> None:
    def change(node: Node) -> Node:
        inside = isinstance(node, For) and node.kind is LoopKind.THREAD
        if inside and isinstance(node.body[0], Assign):
            return replace(node, body=(*node.body, Barrier(Scope.BLOCK)))
        return node

    assert "a thread waits" in refused("product", edited(body_of("product"), change))


def small(function: LoopFunction, change: Callable[[Node], Node]) -> str:
    fn = replace(function, body=edited(function.body, change))
    return "; ".join(c.reason for c in certify(program_of(doubled), fn).faults)


def test_code_of_the_host_in_a_kernel() -> None:
    fn = kernels_of(doubled, TILES)

    def failing(node: Node) -> Node:
        is_thread = isinstance(node, For) and node.kind is LoopKind.THREAD
        if is_thread and isinstance(node.body[0], Assign):
            return replace(node, body=(*node.body, Fail(0)))
        return node

    assert "for the host" in small(fn, failing)

    def bounded_by_a_block(node: Node) -> Node:
        if isinstance(node, For) and node.iter == "j_tile":
            upper = Binary(BinaryOp.MAX, node.upper, Iter("i_tile"), DType.INT64)
            return replace(node, upper=upper)
        return node

    assert "no box" in small(fn, bounded_by_a_block)

    def unboxed(node: Node) -> Node:
        if isinstance(node, For) and node.iter == "j":
            return replace(node, upper=add(node.upper, Iter("i")))
        return node

    assert "no constant" in small(fn, unboxed)


def test_loops_that_carry_a_pair_across_blocks_or_threads() -> None:
    function, steps = MAPPED["sums of rows"]
    body = edited(
        kernels_of(function, steps).body,
        lambda n: replace(n, kind=LoopKind.THREAD) if isinstance(n, For) and n.iter == "u" else n,
    )
    assert refused("sums of rows", body)


def test_strips_of_a_loop_that_carries_a_pair() -> None:
    """A loop in strips is proven as the whole loop, which may run in any order."""
    fn = kernels_of(doubled, "threads(j)")
    assert certify(program_of(doubled), fn).is_proven

    def shifted(node: Node) -> Node:
        if isinstance(node, For) and node.iter == "j":
            return replace(node, upper=add(node.upper, integer(1)))
        return node

    fn = replace(fn, body=edited(fn.body, shifted))
    assert not certify(program_of(doubled), fn).is_proven
