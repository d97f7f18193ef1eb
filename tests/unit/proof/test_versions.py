# ruff: noqa: F821, UP037 - sizes are named by strings
"""Versions of loops under a test of their subscripts: wrong tests and wrong versions are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.ir.expr import (
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    add,
    conjunction,
    integer,
    operands,
    rewrite,
)
from polyopt.ir.loops import Assign, Body, For, If, LoopFunction, Node
from polyopt.ir.nodes import all_nodes, changed_body, map_bodies
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from tests.unit.proof.edits import MACHINE, program_of


def windows(start: po.i64["K"], x: po.f64["N"], y: po.f64["K,M"]):
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[k, j] = x[start[k] + j] + x[start[k] + j + 2]


def backwards(start: po.i64["K"], x: po.f64["N"], y: po.f64["K,M"]):
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[k, j] = x[start[k] - 3 * j]


def blocks(number: po.i64["K"], a: po.f64["K,M,M"], x: po.f64["N"], y: po.f64["K,M"], size: int):
    for k in range(y.shape[0]):
        for i in range(y.shape[1]):
            for j in range(y.shape[1]):
                y[k, i] += a[k, i, j] * x[number[k] * size + j]


def scattered(start: po.i64["K"], x: po.f64["K,M"], y: po.f64["N"]):
    for k in range(x.shape[0]):
        for i in range(2):
            for j in range(x.shape[1]):
                y[start[k] + i + j] += x[k, j]


PROGRAMS = [windows, backwards, blocks, scattered]


def optimized(function: Callable[..., object]) -> LoopFunction:
    program = program_of(function)
    return optimize_loops(lower(source_schedule(program.scop), program), MACHINE, "strict")


def versions(body: Body) -> list[If]:
    """Return the branches that have the same loops on both sides."""
    found = (node for node in all_nodes(body) if isinstance(node, If))
    return [n for n in found if n.otherwise and len(operands(n.condition, BinaryOp.AND)) >= 3]


def edited(function: Callable[..., object], change: Callable[[If], If]) -> bool:
    """Tell whether loops are proven after a change of their versions."""

    def inner(node: Node) -> Node:
        node = map_bodies(node, lambda body: tuple(map(inner, body)))
        return change(node) if isinstance(node, If) and node in known else node

    loops = optimized(function)
    known = versions(loops.body)
    assert known
    body = tuple(map(inner, loops.body))
    return certify(program_of(function), replace(loops, body=body)).is_proven


@pytest.mark.parametrize("function", PROGRAMS)
def test_versions_are_proven(function):
    loops = optimized(function)
    assert versions(loops.body)
    assert certify(program_of(function), loops).is_proven


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("number", range(3))
def test_each_part_of_the_test_is_needed(function, number):
    """The second one finds sums that wrap around."""

    def change(node: If) -> If:
        parts = operands(node.condition, BinaryOp.AND)
        kept = [part for n, part in enumerate(parts) if n % 3 != number]
        return replace(node, condition=conjunction(kept))

    assert not edited(function, change)


@pytest.mark.parametrize("function", PROGRAMS)
def test_an_end_that_is_outside_is_found(function):
    def change(node: If) -> If:
        *others, last = operands(node.condition, BinaryOp.AND)
        assert isinstance(last, Compare)
        wrong = replace(last, op=CompareOp.LE)
        return replace(node, condition=conjunction([*others, wrong]))

    assert not edited(function, change)


@pytest.mark.parametrize("function", PROGRAMS)
def test_another_element_is_found(function):
    def moved(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == "x":
            *outer, last = part.index
            return replace(part, index=(*outer, add(last, integer(1))))
        return None

    assert not edited(function, lambda node: replace(node, then=changed_body(node.then, moved)))


@pytest.mark.parametrize("function", PROGRAMS)
def test_missing_iterations_are_found(function):
    def shorter(node: Node) -> Node:
        if isinstance(node, For):
            return replace(node, lower=add(node.lower, integer(1)))
        return map_bodies(node, lambda body: tuple(map(shorter, body)))

    assert not edited(function, lambda node: replace(node, then=tuple(map(shorter, node.then))))


def test_numbers_that_the_loop_changes_are_not_known():
    """A version that writes the subscripts that were tested is no version."""

    def change(node: If) -> If:
        target = next(
            part
            for n in all_nodes(node.then)
            if isinstance(n, Assign)
            for part in operands(n.value, BinaryOp.ADD)
            if isinstance(part, Load)
        )
        (start,) = {p for p in _loads(target) if p.array == "start"}
        more = Assign(start, integer(0))

        def longer(inner: Node) -> Node:
            return replace(inner, body=(*inner.body, more)) if isinstance(inner, For) else inner

        return replace(
            node,
            then=tuple(map(longer, node.then)),
            otherwise=tuple(map(longer, node.otherwise)),
        )

    assert not edited(windows, change)


def _loads(expr: Expr) -> list[Load]:
    found: list[Load] = []

    def note(part: Expr) -> None:
        if isinstance(part, Load):
            found.append(part)

    rewrite(expr, note)
    for load in list(found):
        for part in load.index:
            found += _loads(part)
    return found
