"""Convert vector statements to loops over their lanes, and chains of choices to loops in order.

In: nodes on whole vectors; loops of the form that `forms` has checked (`ir.extremum`).  Out: VECTOR
loops around the statement for one lane: every lane reads before any writes, which is the same if
lanes do not access each other's elements; no EXTREMUM loops.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Broadcast,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    add,
    integer,
    mul,
    rewrite,
)
from polyopt.ir.loops import Assign, Body, For, LoopKind, Node
from polyopt.ir.nodes import map_bodies


def one_lane(body: Body, names: Iterator[str]) -> Body:
    """Return `body` with its vector assignments as loops, over iterators called by `names`."""
    return tuple(_node(node, names) for node in body)


def _node(node: Node, names: Iterator[str]) -> Node:
    match node:
        case Assign(target=VectorLoad() as target):
            lane = Iter(next(names))
            inner = Assign(
                _element(target, lane),
                _lane(node.value, lane),
                node.statement,
                tuple(
                    add(part, mul(integer(step), lane)) if step else part
                    for part, step in zip(node.instance, node.steps, strict=False)
                ),
            )
            if len(node.steps) != len(node.instance):
                inner = replace(inner, statement="", instance=())
            upper = integer(target.lanes)
            return For(lane.name, integer(0), upper, 1, LoopKind.VECTOR, (inner,), "lanes")
        case _:
            return map_bodies(node, one_lane, names)


def _element(cell: VectorLoad, lane: Iter) -> Load:
    *outer, last = cell.index
    away = mul(integer(cell.step), lane) if cell.step != 1 else lane
    return Load(cell.array, (*outer, add(last, away)), cell.dtype)


def _lane(value: Expr, lane: Iter) -> Expr:
    def rule(part: Expr) -> Expr | None:
        match part:
            case VectorLoad():
                return _element(part, lane)
            case Broadcast():
                return _lane(part.operand, lane)
            case Symbol() if part.lanes > 1:
                return replace(part, lanes=1)
            case _:
                return None

    return rewrite(value, rule)


def without_extrema(body: Body) -> Body:
    """Return `body` with its EXTREMUM loops in order."""
    return tuple(map(_in_order, body))


def _in_order(node: Node) -> Node:
    if isinstance(node, For) and node.kind is LoopKind.EXTREMUM:
        return replace(node, kind=LoopKind.SEQUENTIAL)
    return map_bodies(node, without_extrema)
