"""Values that are copied, recomputed or summed in parts: proven, and refuted when planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import islpy as isl
import pytest

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load, children, with_children
from polyopt.ir.loops import Assign, Body, For, LoopFunction, Node, SetLocal
from polyopt.ir.nodes import map_bodies
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.proof import Certificate, certify, dataflow
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated
from polyopt.transforms import parse_steps
from tests import scops
from tests.oracle.program import as_program
from tests.reading import read
from tests.unit.proof.edits import program_of
from tests.unit.transforms import data_programs as programs

CASES = {
    "pack-sums": (scops.gemm, "tile(L0,4,4,4);pack(B,k_tile);pack(C,j_tile);parallelize(i_tile)"),
    "pack-stencil": (scops.jacobi, "pack(A,t)"),
    "pack-triangle": (programs.triangle, "pack(A,k)"),
    "pack-guarded": (programs.histogram, "pack(c,i)"),
    "expand-last": (programs.last_value, "expand(s,i);parallelize(i)"),
    "expand-rows": (programs.rows, "expand(w,i);parallelize(i)"),
    "contract": (programs.pipeline, "fuse(L0,L1);contract(T)"),
    "contract-outer": (programs.pipeline, "fuse(L0,L1,1);contract(T)"),
    "layout-blocks": (programs.blur, "layout(T,1/4,0,1%4)"),
    "layout-padded": (programs.blur, "layout(T,1,0+8)"),
    "rfactor-tiles": (programs.row_sums, "tile(L1,4);rfactor(S1,j_tile);parallelize(j_tile)"),
    "rfactor-product": (scops.gemm, "rfactor(S0,k);parallelize(k)"),
    "rfactor-guarded": (programs.histogram, "rfactor(S0,i);parallelize(i)"),
    "recompute": (programs.blur, "tile(L1,4,4);recompute(T,L1.tile[1]);parallelize(i_tile)"),
    "recompute-sums": (programs.products, "recompute(y,L2)"),
}


def loops_of(scop: Scop, steps: str) -> LoopFunction:
    schedule = source_schedule(scop)
    if steps:
        schedule = schedule.apply(*parse_steps(steps))
    return lower(schedule, as_program(scop))


def case(name: str) -> tuple[Scop, LoopFunction]:
    make, steps = CASES[name]
    scop = make()
    return scop, loops_of(scop, steps)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("optimized", [False, True], ids=["plain", "optimized"])
def test_data_steps_are_proven(name: str, optimized: bool) -> None:
    scop, loops = case(name)
    if optimized:
        loops = optimize_loops(loops, Machine(cores=2), "strict")
    certificate = certify(as_program(scop), loops)
    assert certificate.is_proven, certificate


# ruff: noqa: F821, UP037 - sizes are named by strings
# -- wrong variants

Setting: TypeAlias = "Assign | SetLocal"
NodeRule = Callable[[Setting], Body]
ExprRule = Callable[[Expr], Expr]


def on_assigns(body: Body, rule: NodeRule) -> Body:
    found: list[Node] = []
    for node in body:
        if isinstance(node, Assign | SetLocal):
            found += rule(node)
        else:
            found.append(map_bodies(node, on_assigns, rule))
    return tuple(found)


def everywhere(expr: Expr, rule: ExprRule) -> Expr:
    return rule(with_children(expr, tuple(everywhere(c, rule) for c in children(expr))))


def on_loads(body: Body, array: str, change: Callable[[Load], Load]) -> Body:
    def rule(expr: Expr) -> Expr:
        return change(expr) if isinstance(expr, Load) and expr.array == array else expr

    def assign(node: Setting) -> Body:
        value = everywhere(node.value, rule)
        if isinstance(node, SetLocal):
            return (replace(node, value=value),)
        assert isinstance(node.target, Load)
        target = everywhere(node.target, rule)
        assert isinstance(target, Load)
        return (replace(node, target=target, value=value),)

    return on_assigns(body, assign)


def into(node: Setting, array: str) -> bool:
    return isinstance(node, Assign) and isinstance(node.target, Load) and node.target.array == array


def is_copy(node: Setting, array: str) -> bool:
    return not node.statement and into(node, array)


def zero(like: Expr) -> Const:
    return Const(0, like.dtype)


def another_element(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if not is_copy(node, "A_pack"):
            return (node,)
        assert isinstance(node.value, Load)
        first = node.value.index[0]
        return (replace(node, value=replace(node.value, index=(first, first))),)

    return on_assigns(body, rule)


def no_copy_out(body: Body) -> Body:
    return on_assigns(body, lambda node: () if is_copy(node, "A") else (node,))


def narrow_copy_out(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if not is_copy(node, "A"):
            return (node,)
        assert isinstance(node, Assign)
        assert isinstance(node.target, Load)
        assert isinstance(node.value, Load)
        last = Const(1, node.target.index[1].dtype)
        target = replace(node.target, index=(node.target.index[0], last))
        return (replace(node, target=target, value=replace(node.value, index=target.index)),)

    return on_assigns(body, rule)


def stale_copy_out(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if not is_copy(node, "s"):
            return (node,)
        assert isinstance(node.value, Load)
        return (replace(node, value=replace(node.value, index=(zero(node.value.index[0]),))),)

    return on_assigns(body, rule)


def one_box(body: Body) -> Body:
    return on_loads(body, "s_own", lambda load: replace(load, index=(zero(load.index[0]),)))


def no_copy_out_of_last(body: Body) -> Body:
    return on_assigns(body, lambda node: () if is_copy(node, "s") else (node,))


def is_join(node: Setting) -> bool:
    return not node.statement and isinstance(node.value, Binary)


def joined_twice(body: Body) -> Body:
    return on_assigns(body, lambda node: (node, node) if is_join(node) else (node,))


def not_joined(body: Body) -> Body:
    return on_assigns(body, lambda node: () if is_join(node) else (node,))


def joined_by_product(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if not is_join(node):
            return (node,)
        assert isinstance(node.value, Binary)
        return (replace(node, value=replace(node.value, op=BinaryOp.MUL)),)

    return on_assigns(body, rule)


def starts_at_one(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if node.statement or not isinstance(node.value, Const):
            return (node,)
        return (replace(node, value=Const(1.0, node.value.dtype)),)

    return on_assigns(body, rule)


def not_started(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        return () if not node.statement and isinstance(node.value, Const) else (node,)

    return on_assigns(body, rule)


def one_partial(body: Body) -> Body:
    return on_loads(body, "C_part", lambda load: replace(load, index=(zero(load.index[0]),)))


def one_row(body: Body) -> Body:
    return on_loads(
        body, "T", lambda load: replace(load, index=(zero(load.index[0]), load.index[1]))
    )


def shifted_again(body: Body) -> Body:
    def rule(node: Setting) -> Body:
        if not (node.statement and into(node, "T_again")):
            return (node,)
        one = Const(1, node.instance[0].dtype)
        return (
            replace(
                node,
                instance=(
                    Binary(BinaryOp.ADD, node.instance[0], one, one.dtype),
                    *node.instance[1:],
                ),
            ),
        )

    return on_assigns(body, rule)


def twice(statement: str) -> Callable[[Body], Body]:
    return lambda body: on_assigns(
        body, lambda node: (node, node) if node.statement == statement else (node,)
    )


PLANTED = {
    "copy-in of another element": ("pack-stencil", another_element),
    "no copy-out": ("pack-stencil", no_copy_out),
    "copy-out of one column": ("pack-stencil", narrow_copy_out),
    "no copy-out of a triangle": ("pack-triangle", no_copy_out),
    "copy-out of a stale value": ("expand-last", stale_copy_out),
    "no copy-out of the last": ("expand-last", no_copy_out_of_last),
    "a box that parallel iterations share": ("expand-last", one_box),
    "joined twice": ("rfactor-tiles", joined_twice),
    "joined twice, of a product": ("rfactor-product", joined_twice),
    "not joined": ("rfactor-tiles", not_joined),
    "not joined, guarded": ("rfactor-guarded", not_joined),
    "joined by another operator": ("rfactor-guarded", joined_by_product),
    "partial sums start at one": ("rfactor-guarded", starts_at_one),
    "partial sums are not set": ("rfactor-tiles", not_started),
    "threads share a partial sum": ("rfactor-product", one_partial),
    "one row instead of two": ("contract", one_row),
    "an instance is added twice": ("rfactor-tiles", twice("S1")),
    "an instance is added twice in a box": ("pack-sums", twice("S0")),
    "another instance is computed again": ("recompute", shifted_again),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_value_is_refuted(name: str) -> None:
    base, change = PLANTED[name]
    scop, loops = case(base)
    wrong = replace(loops, body=change(loops.body))
    assert wrong.body != loops.body
    certificate = certify(as_program(scop), wrong)
    assert not certificate.is_proven, name


def again(position: int) -> Certificate:
    """Certify loops that compute `y` a second time, at `position`."""
    scop = read(
        """
        for i in range(N):
            y[i] = x[i] * 2
        for i in range(N):
            x[i] = 1
        for i in range(N):
            z[i] = y[i]
        """,
        "x[N]; z[N]; temp y[N]",
    )
    loops = loops_of(scop, "")
    first = loops.body[0]
    assert isinstance(first, For)
    body = (*loops.body[:position], first, *loops.body[position:])
    return certify(as_program(scop), replace(loops, body=body))


def test_recomputed_from_the_same_values() -> None:
    assert again(1).is_proven


def test_recomputed_after_a_change() -> None:
    assert not again(2).is_proven


SUMMED = "[n] -> { R[i] -> S[i, k] : 0 <= i < n and 0 <= k < n }"
TILED = "0 <= i < n and 4t <= k < 4t + 4 and 0 <= k < n and 0 <= 4t < n"
SHARED = "[n] -> { R[i] -> S[k] : 0 <= i < n and 0 <= k < n }"


@pytest.mark.parametrize(
    "found, wanted, same",
    [
        (f"[n] -> {{ R[i] -> S[i, k] : exists (t: {TILED}) }}", SUMMED, True),
        (f"[n] -> {{ R[i] -> S[i, k] : exists (t: {TILED} and t > 0) }}", SUMMED, False),
        ("[n] -> { R[i] -> S[i, k] : 0 <= i < n and 0 <= k <= n }", SUMMED, False),
        ("[n] -> { R[i] -> S[k, i] : 0 <= i < n and 0 <= k < n }", SUMMED, False),
        (SHARED, SHARED, True),
        ("[n] -> { R[0] -> S[k] : 0 <= k < n }", SHARED, False),  # each value, not for each read
        ("{ }", SUMMED, False),
        (SUMMED, "{ }", False),
        ("{ }", "{ }", True),
    ],
)
def test_the_same_instances_are_summed(found: str, wanted: str, same: bool) -> None:
    one, other = isl.UnionMap(found), isl.UnionMap(wanted)
    assert dataflow._is_same(one, other) is same
    assert one.is_equal(other) is same


def two_sums(A: po.f64["N,M"], x: po.f64["N"], q: po.f64["K,M"], r: po.f64["M"]) -> None:
    r[:] = x @ A
    for t in range(q.shape[0]):
        r -= 0.1 * q[t]


def summed_in_parts() -> tuple[Program, LoopFunction]:
    """Return `two_sums` in the mode that opens both, the first one with partial results."""
    program = reassociated(program_of(two_sums))
    steps = "interchange(L1[0],L1[1]);tile(L1,4);rfactor(S1,L1.tile[0]);parallelize(L1.tile[0])"
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    return program, lower(schedule, program)


def test_another_sum_of_the_array_comes_behind_the_partial_results() -> None:
    certificate = certify(*summed_in_parts())
    assert certificate.is_proven, certificate


def test_another_sum_of_the_array_does_not_come_between_the_partial_results() -> None:
    program, loops = summed_in_parts()
    *before, join, other = loops.body
    assert not certify(program, replace(loops, body=(*before, other, join))).is_proven
