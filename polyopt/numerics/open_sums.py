"""Sums that go on from one iteration to the next: the arrays and locals that they accumulate in."""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.expr import Binary, BinaryOp, Expr, Load, Symbol
from polyopt.ir.loops import Assign, Body, SetLocal
from polyopt.ir.nodes import all_nodes


def open_sums(body: Body, reordered: frozenset[str]) -> Iterator[str]:
    """Yield what the open sums of `body` accumulate in."""
    for node in all_nodes(body):
        match node:
            case Assign() if node.statement in reordered:
                if partial_before(node.value, node.target):
                    yield node.target.array
            case SetLocal() if node.statement in reordered:
                if is_sum(node.value, Symbol(node.name, node.dtype, node.lanes)):
                    yield node.name
            case _:
                pass


def partial_before(value: Expr, target: Expr) -> Expr | None:
    """Return the partial sum that an open sum, or a recurrence that is one, goes on from."""
    if is_sum(value, target):
        return target
    if not (isinstance(target, Load) and isinstance(value, Binary) and value.op is BinaryOp.ADD):
        return None
    if value.dtype.is_integer:
        return None
    own = (e for e in (value.left, value.right) if isinstance(e, Load) and e.array == target.array)
    return next(own, None)


def is_sum(value: Expr, target: Expr) -> bool:
    return (
        isinstance(value, Binary)
        and value.op in (BinaryOp.ADD, BinaryOp.SUB)
        and not value.dtype.is_integer
        and value.left == target
    )
