"""Small programs, their loops, and loops that are almost theirs.

In: annotated functions.  Out: the program and its loops in the source's order, to be edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, Iter, Load, Param, Symbol
from polyopt.ir.loops import Assign, Body, For, If, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import bodies, map_bodies
from polyopt.ir.program import Program
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.proof import Claim, certify
from polyopt.schedule import source_schedule
from polyopt.transforms import parse_steps

MACHINE = Machine(cores=4, vector_bytes=32, vector_registers=16)
F64, F32, I64, U8 = DType.FLOAT64, DType.FLOAT32, DType.INT64, DType.UINT8
SIZE, I, J = Param("N"), Iter("i"), Iter("j")


@cache
def program_of(function: Callable[..., Any]) -> Program:
    """Return the program of an annotated function."""
    return build(function, infer_types(function))


@cache
def loops_of(
    function: Callable[..., Any], steps: str = "", optimized: bool = False
) -> LoopFunction:
    """Return the loops of a static function, in the source's order but for `steps`."""
    schedule = source_schedule(program_of(function).scop)
    if steps:
        schedule = schedule.apply(*parse_steps(steps))
    loops = lower(schedule, program_of(function))
    return optimize_loops(loops, MACHINE, "strict") if optimized else loops


def faults(function: Callable[..., Any], loops: LoopFunction) -> tuple[Claim, ...]:
    """Return the claims that are not proven of `loops`."""
    return certify(program_of(function), loops).faults


def reasons(function: Callable[..., Any], body: Body, steps: str = "") -> str:
    """Return what is wrong with `body` in place of the function's own; "" where it is proven."""
    found = faults(function, replace(loops_of(function, steps), body=body))
    return "; ".join(f"{c.kind.value} of {c.subject}: {c.reason}" for c in found)


def edited(body: Body, change: Callable[[Node], Node | Iterable[Node]]) -> Body:
    """Return `body` with every node, the inner ones first, replaced by what `change` says."""
    found: list[Node] = []
    for node in body:
        new = change(map_bodies(node, edited, change))
        found += list(new) if isinstance(new, Iterable) else [new]
    return tuple(found)


def only_loop(body: Body) -> For:
    """Return the last loop of a body."""
    return [node for node in body if isinstance(node, For)][-1]


def first(body: Body) -> Assign:
    """Return the first assignment anywhere."""
    for node in body:
        if isinstance(node, Assign):
            return node
        for part in bodies(node):
            if part:
                return first(part)
    raise AssertionError("no assignment")


def marked(body: Body, name: str, kind: LoopKind) -> Body:
    """Return `body` with loops over `name` of that kind."""
    return edited(
        body, lambda n: replace(n, kind=kind) if isinstance(n, For) and n.iter == name else n
    )


def element(array: str, *index: Expr, dtype: DType = F64) -> Load:
    """Return an element."""
    return Load(array, index, dtype)


def number(value: float) -> Const:
    """Return a FLOAT64 constant."""
    return Const(value, F64)


def local(name: str, dtype: DType = F64) -> Symbol:
    """Return a local."""
    return Symbol(name, dtype)


def below(left: Expr, right: Expr) -> Expr:
    """Return `left < right`."""
    return Compare(CompareOp.LT, left, right)


def where(condition: Expr, *body: Node) -> If:
    """Return `if condition: body`."""
    return If(condition, body)
