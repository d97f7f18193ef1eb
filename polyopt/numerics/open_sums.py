"""Sums that go on from one iteration to the next: the arrays and locals that they accumulate in."""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.expr import Binary, BinaryOp, Expr, Load, Symbol
from polyopt.ir.loops import Assign, Body, For, If, SetLocal, While


def open_sums(body: Body, reordered: frozenset[str]) -> Iterator[str]:
    """Yield what the open sums of `body` accumulate in."""
    for node in body:
        match node:
            case Assign() if node.statement in reordered and partial_before(
                node.value, node.target
            ):
                yield node.target.array
            case SetLocal() if node.statement in reordered:
                if is_sum(node.value, Symbol(node.name, node.dtype, node.lanes)):
                    yield node.name
            case For() | While():
                yield from open_sums(node.body, reordered)
            case If():
                yield from open_sums(node.then, reordered)
                yield from open_sums(node.otherwise, reordered)
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
