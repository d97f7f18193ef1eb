"""Wrong kernels, made of right ones by one small change each.

In: a `LoopFunction`.  Out: named variants; a few of them mean the same as the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    VectorLoad,
    add,
    children,
    integer,
    with_children,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import bodies, with_bodies
from polyopt.ir.types import DType

_OTHER = {
    CompareOp.LT: CompareOp.LE,
    CompareOp.LE: CompareOp.LT,
    CompareOp.GT: CompareOp.GE,
    CompareOp.GE: CompareOp.GT,
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
}


def mutants(fn: LoopFunction) -> Iterator[tuple[str, LoopFunction]]:
    """Yield every variant of `fn` with one change, and what the change is."""
    for name, body in _bodies(fn.body):
        yield name, replace(fn, body=body)


def _bodies(body: Body) -> Iterator[tuple[str, Body]]:
    for number, node in enumerate(body):
        before, after = body[:number], body[number + 1 :]
        if not isinstance(node, Declare | DeclareArray | DeclareView):
            yield f"without {type(node).__name__}", (*before, *after)
        if after and not isinstance(node, Declare | DeclareArray | DeclareView):
            yield "swapped", (*before, after[0], node, *after[1:])
        for name, new in _nodes(node):
            yield name, (*before, new, *after)
        parts = bodies(node)
        for place, part in enumerate(parts):
            for name, inner in _bodies(part):
                new = with_bodies(node, (*parts[:place], inner, *parts[place + 1 :]))
                yield name, (*before, new, *after)


def _nodes(node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case For():
            yield from _loops(node)
        case If():
            yield "if true", replace(node, condition=Const(True, DType.BOOL))
            yield "if false", replace(node, condition=Const(False, DType.BOOL))
        case Assign():
            index = node.target.index
            for place in range(len(index)):
                target = replace(node.target, index=_moved(index, place, 1))
                yield "target + 1", replace(node, target=target)
            for name, value in _exprs(node.value):
                yield name, replace(node, value=value)
        case Declare() | SetLocal():
            for name, value in _exprs(node.value):
                yield name, replace(node, value=value)
        case _:
            pass


def _loops(node: For) -> Iterator[tuple[str, Node]]:
    yield "lower + 1", replace(node, lower=add(node.lower, integer(1)))
    yield "lower - 1", replace(node, lower=add(node.lower, integer(-1)))
    yield "upper + 1", replace(node, upper=add(node.upper, integer(1)))
    yield "upper - 1", replace(node, upper=add(node.upper, integer(-1)))
    yield "step * 2", replace(node, step=2 * node.step)
    if node.kind is LoopKind.SEQUENTIAL:
        yield "parallel", replace(node, kind=LoopKind.PARALLEL)
    if node.reductions:
        yield "not combined", node.annotated(reductions=())


def _exprs(expr: Expr) -> Iterator[tuple[str, Expr]]:
    parts = children(expr)
    match expr:
        case Load() | VectorLoad():
            for place in range(len(expr.index)):
                for offset in (1, -1):
                    yield "read moved", replace(expr, index=_moved(expr.index, place, offset))
            return
        case Binary(op=BinaryOp.ADD):
            yield "+ to -", replace(expr, op=BinaryOp.SUB)
        case Binary(op=BinaryOp.SUB | BinaryOp.DIV):
            yield "operands swapped", with_children(expr, (parts[1], parts[0]))
        case Binary(op=BinaryOp.MIN):
            yield "min to max", replace(expr, op=BinaryOp.MAX)
        case Compare():
            yield "comparison", replace(expr, op=_OTHER[expr.op])
        case _:
            pass
    for place, part in enumerate(parts):
        for name, new in _exprs(part):
            yield name, with_children(expr, (*parts[:place], new, *parts[place + 1 :]))


def _moved(index: tuple[Expr, ...], place: int, offset: int) -> tuple[Expr, ...]:
    return (*index[:place], add(index[place], integer(offset)), *index[place + 1 :])
