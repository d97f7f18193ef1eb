"""Reroll unrolled loops: repeated statements as loops.

In: bodies in which neighbouring nodes are equal up to constants that grow evenly.  Out: loops
over the copies.  Every copy is compared with the loop's body at its iteration, so nothing is
assumed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Const,
    Expr,
    Iter,
    Load,
    VectorLoad,
    add,
    children,
    integer,
    loads,
    mul,
    sub,
    walk,
    with_children,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, For, If, LoopKind, Node
from polyopt.ir.nodes import changed, map_bodies
from polyopt.ir.types import DType

WIDEST = 8
"""Nodes of one copy."""

WINDOW = 4
"""Elements of one array in one value that are a window of it."""


def reroll(body: Body, names: Iterator[str]) -> Body:
    """Return `body` with sequences of copies as loops, over iterators called by `names`."""
    nodes = [map_bodies(n, reroll, names) for n in body]
    while True:
        shorter = _pass(nodes, names)
        if len(shorter) == len(nodes):
            return tuple(nodes)
        nodes = shorter


def _pass(nodes: list[Node], names: Iterator[str]) -> list[Node]:
    found: list[Node] = []
    start = 0
    likeness = [_likeness(node) for node in nodes] if len(nodes) > 1 else []
    while start < len(nodes):
        width, count, steps = _longest(nodes, likeness, start)
        if count < 2:
            found.append(nodes[start])
            start += 1
            continue
        copy = Iter(next(names))
        inner = tuple(
            _shifted_copy(node, iter(step), copy)
            for node, step in zip(nodes[start : start + width], steps, strict=True)
        )
        loop = For(copy.name, integer(0), integer(count), 1, LoopKind.UNROLL, inner, "copies")
        found.append(loop)
        start += width * count
    return found


def _longest(
    nodes: list[Node], likeness: list[Hashable], start: int
) -> tuple[int, int, list[list[int]]]:
    """Return width, number and steps of the copies from `start` on; number 1: none."""
    for width in range(1, min(WIDEST, (len(nodes) - start) // 2) + 1):
        middle = start + width
        if likeness[start:middle] != likeness[middle : middle + width]:
            continue
        steps = _between(nodes, start, width)
        if steps is None:
            continue
        count = 2
        while start + (count + 1) * width <= len(nodes):
            if _between(nodes, start + (count - 1) * width, width) != steps:
                break
            count += 1
        return width, count, steps
    return 1, 1, []


def _between(nodes: list[Node], start: int, width: int) -> list[list[int]] | None:
    """Return the step of each index from one copy to the next, node by node."""
    result = []
    middle = start + width
    for one, two in zip(nodes[start:middle], nodes[middle : middle + width], strict=True):
        steps = _node_steps(one, two)
        if steps is None:
            return None
        result.append(steps)
    return result


def _likeness(node: Node) -> Hashable:
    """Return a key that copies have in common: everything but their indices."""
    match node:
        case Assign():
            parts = (node.target, node.value, *node.instance)
            return (Assign, node.statement, *map(_form, parts))
        case For():
            body = tuple(map(_likeness, node.body))
            return (For, node.kind, node.step, node.lanes, body)
        case If():
            return (
                If,
                _form(node.condition),
                tuple(map(_likeness, node.then)),
                tuple(map(_likeness, node.otherwise)),
            )
        case _:
            return (type(node),)


def _form(expr: Expr) -> Hashable:
    """Return an expression without its indices and constants."""
    if _is_index(expr):
        return None
    array = expr.array if isinstance(expr, Load | VectorLoad) else ""
    return (type(expr), array, *map(_form, children(expr)))


def _node_steps(one: Node, two: Node) -> list[int] | None:
    match one, two:
        case Assign(), Assign():
            if one.statement != two.statement or len(one.instance) != len(two.instance):
                return None
            if not _move_alike(one.value, two.value):
                return None
            return _all_steps(
                (one.target, one.value, *one.instance), (two.target, two.value, *two.instance)
            )
        case If(), If():
            return _joined(
                _all_steps((one.condition,), (two.condition,)),
                _body_steps(one.then, two.then),
                _body_steps(one.otherwise, two.otherwise),
            )
        case For(), For():
            if (one.kind, one.step, one.lanes) != (two.kind, two.step, two.lanes):
                return None
            if one.reductions or two.reductions:
                return None
            name = {two.iter: Iter(one.iter)}
            body = tuple(changed(node, lambda e: _renamed(e, name)) for node in two.body)
            return _joined(
                _all_steps((one.lower, one.upper), (two.lower, two.upper)),
                _body_steps(one.body, body),
            )
        case _:
            return None


def _move_alike(one: Expr, two: Expr) -> bool:
    """Tell whether all elements of a window move by the same distance.

    Otherwise two sums of the same elements differ in the order of these.
    """
    found: dict[str, list[Hashable]] = {}
    for first, second in zip(loads(one), loads(two), strict=False):
        distance = tuple(map(normalize, map(sub, second.index, first.index)))
        found.setdefault(first.array, []).append(distance)
    return all(len(d) < WINDOW or len(set(d)) == 1 for d in found.values())


def _renamed(expr: Expr, names: dict[str, Iter]) -> Expr | None:
    return names.get(expr.name) if isinstance(expr, Iter) else None


def _body_steps(one: Body, two: Body) -> list[int] | None:
    if len(one) != len(two):
        return None
    return _joined(*(_node_steps(a, b) for a, b in zip(one, two, strict=True)))


def _joined(*parts: list[int] | None) -> list[int] | None:
    result: list[int] = []
    for part in parts:
        if part is None:
            return None
        result += part
    return result


def _all_steps(ones: tuple[Expr, ...], twos: tuple[Expr, ...]) -> list[int] | None:
    return _joined(*(_steps(a, b) for a, b in zip(ones, twos, strict=True)))


def _is_index(expr: Expr) -> bool:
    return expr.dtype is DType.INT64 and not any(
        isinstance(part, Load | VectorLoad) for part in walk(expr)
    )


def _steps(one: Expr, two: Expr) -> list[int] | None:
    if _is_index(one) and _is_index(two):
        distance = linear(sub(two, one))
        return None if distance.terms else [distance.constant]
    if type(one) is not type(two):
        return None
    if isinstance(one, Const) and repr(one) != repr(two):
        return None  # -0.0 == 0.0
    parts, others = children(one), children(two)
    if len(parts) != len(others) or with_children(two, parts) != one:
        return None
    return _all_steps(parts, others)


def _shifted_copy(node: Node, steps: Iterator[int], copy: Iter) -> Node:
    """Return `node` with every index moved by its step times `copy`, in the order of `_steps`."""
    match node:
        case Assign():
            target = _shifted(node.target, steps, copy)
            assert isinstance(target, Load | VectorLoad)
            value = _shifted(node.value, steps, copy)
            instance = tuple(_shifted(part, steps, copy) for part in node.instance)
            return replace(node, target=target, value=value, instance=instance)
        case If():
            condition = _shifted(node.condition, steps, copy)
            then = tuple(_shifted_copy(n, steps, copy) for n in node.then)
            return If(condition, then, tuple(_shifted_copy(n, steps, copy) for n in node.otherwise))
        case For():
            lower, upper = _shifted(node.lower, steps, copy), _shifted(node.upper, steps, copy)
            body = tuple(_shifted_copy(n, steps, copy) for n in node.body)
            return replace(node, lower=lower, upper=upper, body=body)
        case _:
            raise AssertionError(node)


def _shifted(expr: Expr, steps: Iterator[int], copy: Iter) -> Expr:
    if _is_index(expr):
        step = next(steps)
        return add(expr, mul(integer(step), copy)) if step else expr
    return with_children(expr, tuple(_shifted(part, steps, copy) for part in children(expr)))
