"""The enumerator of whole compilations: right kernels pass, each planted fault is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.emit.passes.fma import contract
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    Load,
    MathFunc,
    add,
    integer,
    rewrite,
)
from polyopt.ir.interp import points
from polyopt.ir.loops import (
    Assign,
    Body,
    Break,
    Comment,
    Declare,
    Fail,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import map_bodies
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated
from tests.oracle.domains import holds, pieces_of, set_points
from tests.oracle.enumerate import FindingKind, enumerate_call, enumerate_kernel
from tests.oracle.unproven import loops_of

SMALL = Machine(cores=2, vector_bytes=16, l1=512, l2=2048, l3=8192)
Change = Callable[[Node], Node | None]


def stencil(T, A, B):
    for _ in range(T):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] - A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i] * 0.5


def product(C: po.f64[:, :], A: po.f64[:, :], B: po.f64[:, :]):
    C[...] = 2.0 * A @ B + C


def total(A: po.f64[:, :]):
    return np.sum(A)


def gathered(out, x, index: po.i64[:]):
    for i in range(out.shape[0]):
        out[i] = x[index[i]] / 2.0


def newton(x, tolerance):
    n = 0
    while abs(x[0] * x[0] - 2.0) > tolerance and n < 20:
        x[0] = 0.5 * (x[0] + 2.0 / x[0])
        n = n + 1


def padded(out: po.f64[:], x: po.f64[:], counts: po.i64[:]):
    for i in range(out.shape[0]):
        t = np.full(counts[i], x[i])
        for k in range(1, counts[i]):
            t[k] = t[k - 1] * 0.5 + t[k]
        out[i] = np.sum(t)


def compiled(func: Callable[..., Any], schedule: str | None = None) -> Any:
    program = build(func, infer_types(func))
    return program, loops_of(program, SMALL, schedule)


def vector(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)


def matrix(n: int, m: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2.0, (n, m))


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "stencil": (stencil, [3, vector(6), vector(6)]),
    "product": (product, [matrix(5, 9), matrix(5, 3), matrix(3, 9)]),
    "total": (total, [matrix(5, 6)]),
    "gathered": (gathered, [vector(5), vector(4), np.array([0, 3, -1, 2, 2])]),
    "newton": (newton, [vector(1), 1e-6]),
    "padded": (padded, [vector(4), vector(4), np.array([0, 3, 1, 2])]),
}


def changed(fn: LoopFunction, change: Change) -> LoopFunction:
    """Return `fn` with the first node that `change` has an answer for replaced."""
    done = False

    def body(nodes: Body) -> Body:
        nonlocal done
        found: list[Node] = []
        for node in nodes:
            new = None if done else change(node)
            if new is not None:
                done = True
                found.append(new)
            else:
                found.append(map_bodies(node, body))
        return tuple(found)

    result = replace(fn, body=body(fn.body))
    assert done
    return result


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("schedule", [None, "source"])
def test_right_kernels_pass(name: str, schedule: str | None) -> None:
    func, args = CASES[name]
    program, fn = compiled(func, schedule)
    assert enumerate_call(program, fn, args) == []


def shifted_load(node: Node) -> Node | None:
    match node:
        case Assign() | Declare() | SetLocal():
            value = rewrite(node.value, _shift)
            return None if value == node.value else replace(node, value=value)
        case _:
            return None


def _shift(expr: Expr) -> Expr | None:
    if isinstance(expr, Load) and expr.index:
        return replace(expr, index=(*expr.index[:-1], add(expr.index[-1], integer(1))))
    return None


def swapped(node: Node) -> Node | None:
    match node:
        case Assign(value=Binary(op=BinaryOp.SUB | BinaryOp.DIV) as value):
            return replace(node, value=replace(value, left=value.right, right=value.left))
        case _:
            return None


def longer(node: Node) -> Node | None:
    if isinstance(node, For) and isinstance(node.body[0], Assign):
        return replace(node, upper=add(node.upper, integer(1)))
    return None


def shorter(node: Node) -> Node | None:
    if isinstance(node, For) and isinstance(node.body[0], Assign):
        return replace(node, lower=add(node.lower, integer(1)))
    return None


def side_by_side(node: Node) -> Node | None:
    if isinstance(node, For) and node.kind is LoopKind.SEQUENTIAL:
        return replace(node, kind=LoopKind.PARALLEL)
    return None


def left(node: Node) -> Node | None:
    return Break() if isinstance(node, For) else None


def not_combined(node: Node) -> Node | None:
    if isinstance(node, For) and node.reductions:
        return node.annotated(reductions=())
    return None


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [
        ("stencil", shifted_load, FindingKind.VALUE),
        ("stencil", swapped, FindingKind.VALUE),
        ("stencil", longer, FindingKind.BOUNDS),
        ("stencil", shorter, FindingKind.INSTANCE),
        ("stencil", side_by_side, FindingKind.CONFLICT),
        ("product", shifted_load, FindingKind.VALUE),
        ("total", not_combined, FindingKind.CONFLICT),
        ("gathered", shifted_load, FindingKind.BOUNDS),
        ("newton", shifted_load, FindingKind.BOUNDS),
        ("padded", side_by_side, FindingKind.CONFLICT),
        ("padded", left, FindingKind.FORM),
    ],
)
def test_faults_are_found(name: str, change: Change, kind: FindingKind) -> None:
    func, args = CASES[name]
    program, fn = compiled(func, None if name == "total" else "source")
    found = enumerate_call(program, changed(fn, change), args)
    assert kind in {finding.kind for finding in found}, list(map(str, found))


def test_another_fault_is_found() -> None:
    program, fn = compiled(gathered, "source")
    args = [vector(5), vector(4), np.array([0, 3, 9, 2, 2])]
    assert enumerate_call(program, fn, args) == []
    whole = enumerate_call(program, changed(fn, unchecked), args)
    assert {finding.kind for finding in whole} >= {FindingKind.FAULT}


def unchecked(node: Node) -> Node | None:
    if isinstance(node, If) and any(isinstance(inner, Fail) for inner in node.then):
        return If(node.condition, ())
    return None


def test_only_open_sums_may_be_regrouped() -> None:
    """The same loops are right for `np.sum` and wrong for a sum the source gives an order."""
    program, fn = compiled(total)
    args = [matrix(3, 4)]
    assert enumerate_call(program, fn, args) == []
    (scop,) = program.scops
    statements = tuple(replace(s, reduction=None) for s in scop.statements)
    ordered = replace(program, parts=(replace(scop, statements=statements),))
    assert {f.kind for f in enumerate_call(ordered, fn, args)} == {FindingKind.VALUE}


def both_products(A: po.f64[:, :], B: po.f64[:, :], C: po.f64[:, :]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k] - 0.5 * B[i, k] * A[j, k]


def twice_added(node: Node) -> Node | None:
    """Put the outer product of a nested FMA in the inner one's place, too."""
    match node:
        case Assign(value=Call(func=MathFunc.FMA, args=(a, b, Call(func=MathFunc.FMA) as inner))):
            assert (a, b) != inner.args[:2]
            return replace(node, value=replace(node.value, args=(*inner.args[:2], inner)))
        case _:
            return None


def test_products_are_added_one_by_one_and_once() -> None:
    opened = reassociated(build(both_products, infer_types(both_products)))
    fn = contract(lower(source_schedule(opened.scop), opened))
    args = [matrix(3, 4), matrix(3, 4, 3), matrix(3, 3)]
    assert enumerate_call(opened, fn, args) == []
    found = enumerate_call(opened, changed(fn, twice_added), args)
    assert FindingKind.VALUE in {finding.kind for finding in found}


def test_undefined_elements_are_found() -> None:
    program, fn = compiled(CASES["product"][0], "source")
    starts = changed(fn, lambda n: Comment("") if isinstance(n, For) else None)
    found = enumerate_call(program, starts, CASES["product"][1])
    assert FindingKind.UNDEFINED in {finding.kind for finding in found}


def test_memory_that_iterations_would_share() -> None:
    func, args = CASES["padded"]
    program, fn = compiled(func, "source")
    found = enumerate_call(program, changed(fn, side_by_side), args)
    assert any("memory of t" in finding.text for finding in found), list(map(str, found))


def test_sizes_are_enough() -> None:
    program, fn = compiled(stencil)
    assert enumerate_kernel(program, fn, {"T": 2, "A_0": 5, "B_0": 6}) == []


@pytest.mark.parametrize(
    "text",
    [
        "{ S[i, j] : exists (e : 2e <= i <= 2e + 1 and j = 3e) and 0 <= i < 10 }",
        "{ S[i, j] : exists (e, f : i = 2e + 3f and 0 <= e < 3 and 0 <= f < 2 and j = e) }",
        "{ S[i, j] : (i + j) mod 3 = 1 and 0 <= j <= i < 9 and floor(i/2) <= j }",
        "[N] -> { S[l, i, k] : l < N and 0 <= i < N - l and i <= k <= l + i - 2 }",
        "[N] -> { S[i] : 0 <= i < N and (i mod 2 = 0 or i > 4) }",
        "[N] -> { S[] : N > 3 }",
    ],
)
def test_points_are_those_of_isl(text: str) -> None:
    value = isl.Set(text)
    pieces = pieces_of(value)
    for size in (0, 1, 4, 7):
        params = {"N": size} if "[N]" in text else {}
        found = set_points(pieces, params)
        assert found == points(value, params)
        assert all(holds(pieces, point, params) for point in found)
        outside = tuple(99 for _ in range(value.dim(isl.dim_type.set)))
        assert not outside or not holds(pieces, outside, params)


def test_unbounded_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="no bound"):
        set_points(pieces_of(isl.Set("{ S[i] : i >= 0 }")), {})
