"""Wrong programs: loops with one small fault planted.

In: loops in the source's order.  Out: loops with the fault in the last place that has one, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, add, integer, rewrite, sub, walk
from polyopt.ir.loops import Assign, Body, For, If, LoopFunction, Node, SetLocal, While
from polyopt.ir.nodes import changed

Fault = Callable[[Node], Body | None]


def planted(fn: LoopFunction, fault: Fault) -> LoopFunction | None:
    """Return `fn` with `fault` in the last node that takes it."""
    places = [path for path, node in _nodes(fn.body, ()) if fault(node) is not None]
    return replace(fn, body=_at(fn.body, places[-1], fault)) if places else None


def _nodes(body: Body, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Node]]:
    for number, node in enumerate(body):
        yield (*path, number), node
        match node:
            case For() | While():
                yield from _nodes(node.body, (*path, number))
            case If():
                yield from _nodes(node.then, (*path, number))
            case _:
                pass


def _at(body: Body, path: tuple[int, ...], fault: Fault) -> Body:
    first, *rest = path
    node = body[first]
    if not rest:
        new = fault(node)
        assert new is not None
    else:
        match node:
            case For() | While():
                new = (replace(node, body=_at(node.body, tuple(rest), fault)),)
            case If():
                new = (replace(node, then=_at(node.then, tuple(rest), fault)),)
            case _:
                raise AssertionError(node)
    return (*body[:first], *new, *body[first + 1 :])


def _updates(node: Node) -> bool:
    """Tell whether `node` is a loop over the terms of a floating-point sum."""
    if not isinstance(node, For) or len(node.body) != 1:
        return False
    (update,) = node.body
    if not isinstance(update, Assign) or not isinstance(update.target, Load):
        return False
    value = update.value
    fixed = not any(part == Iter(node.iter) for i in update.target.index for part in walk(i))
    return (
        fixed
        and isinstance(value, Binary)
        and value.op in (BinaryOp.ADD, BinaryOp.SUB)
        and value.left == update.target
        and not value.dtype.is_integer
    )


def dropped_term(node: Node) -> Body | None:
    """Leave out the first term of a sum."""
    if not _updates(node):
        return None
    assert isinstance(node, For)
    return (replace(node, lower=add(node.lower, integer(node.step))),)


def repeated_term(node: Node) -> Body | None:
    """Add the first term of a sum twice."""
    if not _updates(node):
        return None
    assert isinstance(node, For)
    first = node.lower
    extra = tuple(
        changed(inner, lambda e: substitute_iter(e, node.iter, first)) for inner in node.body
    )
    return (node, *extra)


def substitute_iter(expr: Expr, name: str, value: Expr) -> Expr | None:
    """Return `value` for the iterator `name`."""
    return value if expr == Iter(name) else None


def _value_fault(node: Node, rule: Callable[[Expr], Expr | None]) -> Body | None:
    """Change the first part of the value that `rule` has an answer for."""
    if not isinstance(node, Assign | SetLocal) or not node.value.dtype.is_float:
        return None
    done = False

    def once(part: Expr) -> Expr | None:
        nonlocal done
        if done:
            return part
        new = rule(part)
        done = new is not None
        return new

    value = rewrite(node.value, once)
    return (replace(node, value=value),) if done else None


def neighbour_index(node: Node) -> Body | None:
    """Read the element before the right one, where that exists for certain."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or not part.dtype.is_float or not part.index:
            return None
        if isinstance(node, Assign) and part == node.target:
            return None
        if not any(isinstance(p, Iter) for p in walk(part.index[-1])):
            return None
        last = Binary(BinaryOp.MAX, sub(part.index[-1], integer(1)), integer(0), integer(0).dtype)
        return replace(part, index=(*part.index[:-1], last))

    return _value_fault(node, rule)


def swapped_difference(node: Node) -> Body | None:
    """Subtract the other way round."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Binary) and part.op is BinaryOp.SUB and part.dtype.is_float:
            return replace(part, left=part.right, right=part.left)
        return None

    return _value_fault(node, rule)


FAULTS: dict[str, Fault] = {
    "dropped term": dropped_term,
    "repeated term": repeated_term,
    "neighbour index": neighbour_index,
    "swapped difference": swapped_difference,
}
