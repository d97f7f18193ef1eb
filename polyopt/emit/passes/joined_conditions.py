"""Join what one condition on data is around, so that it is tested once.

In: bodies that run in order, with neighbours `if c: a` and `if c and d: b`.  Out: `if c:` around
`a` and `if d: b`, with what happens otherwise behind `else`; a condition on sizes around them comes
inside.
Leaves: what changes the condition, bodies of vector loops, where lanes are masked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.emit.passes.subscript_limits import changes_of, names_of
from polyopt.emit.regions import runs_in_order
from polyopt.ir.expr import (
    BinaryOp,
    Compare,
    Const,
    Expr,
    Unary,
    conjunction,
    operands,
)
from polyopt.ir.integers import is_total, opposite
from polyopt.ir.loops import Body, Declare, Fail, For, If, LoopFunction, Node
from polyopt.ir.names import reads, symbols
from polyopt.ir.nodes import all_nodes, kernels_of, map_bodies, own_expressions


def join_conditions(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with neighbours under one condition on data together."""
    if next(kernels_of(fn.body), None) is not None:
        return fn
    return replace(fn, body=_joined(fn.body))


def _joined(body: Body) -> Body:
    found: list[Node] = []
    rest = _with_starts_first(body)
    while rest:
        node = rest.pop(0)
        for condition in _conditions(node):
            count = _run_length(node, rest, condition)
            if count:
                run = (node, *rest[:count])
                del rest[:count]
                inside = tuple(part for one in run for part in _under(one, condition) or (one,))
                node = _merged(If(condition, inside))
                break
        last = found[-1] if found else None
        both = _both(last, node) if isinstance(last, If) and isinstance(node, If) else None
        if both is not None:
            found.pop()
        found.append(_inside(both or node))
    return tuple(found)


def _with_starts_first(body: Body) -> list[Node]:
    """Return a body with locals that begin as constants before all conditions."""
    first = next((place for place, node in enumerate(body) if isinstance(node, If)), len(body))
    starts = [n for n in body[first:] if isinstance(n, Declare) and isinstance(n.value, Const)]
    return [*body[:first], *starts, *(node for node in body[first:] if node not in starts)]


def _inside(node: Node) -> Node:
    """Return a node with what it is around joined, but for lanes."""
    return map_bodies(node, _joined) if not isinstance(node, For) or runs_in_order(node) else node


def _both(node: If, other: If) -> If | None:
    """Return two neighbours under one condition, or its opposite, as one; None if it may change."""
    condition = node.condition
    is_same = condition == other.condition and bool(node.otherwise or other.otherwise)
    if not is_same and not _are_opposite(condition, other.condition):
        return None
    if not (reads(condition) or symbols(condition)) or isinstance(node.then[-1], Fail):
        return None
    changed = frozenset().union(*map(changes_of, (*node.then, *node.otherwise)))
    if not changed.isdisjoint(names_of(condition)):
        return None
    sides = (other.then, other.otherwise) if is_same else (other.otherwise, other.then)
    then, otherwise = (*node.then, *sides[0]), (*node.otherwise, *sides[1])
    if isinstance(condition, Unary) and otherwise:
        return If(condition.operand, otherwise, then)
    return If(condition, then, otherwise)


def _are_opposite(one: Expr, other: Expr) -> bool:
    """Tell whether just one of two conditions holds."""
    if isinstance(one, Compare) and is_total(one) and opposite(one) == other:
        return True
    return any(isinstance(a, Unary) and a.operand == b for a, b in ((one, other), (other, one)))


def _merged(node: If) -> If:
    """Return a condition around nothing but another as one."""
    match node.then:
        case (If(otherwise=()) as inner,):
            return If(conjunction((node.condition, inner.condition)), inner.then)
        case _:
            return node


def _conditions(node: Node) -> Iterator[Expr]:
    """Yield the conditions on data without which a node does nothing."""
    if not isinstance(node, If):
        return
    if not node.otherwise:
        for part in operands(node.condition, BinaryOp.AND):
            if reads(part) or symbols(part):
                yield part
    if len(node.then) == 1:
        yield from _conditions(node.then[0])


def _run_length(node: Node, rest: list[Node], condition: Expr) -> int:
    """Return how many of the next nodes run only where `condition` holds, as `node` does."""
    names = names_of(condition)
    count = 0
    last = node
    for number, other in enumerate(rest, start=1):
        if not changes_of(last).isdisjoint(names):
            break
        last = other
        if isinstance(other, Declare) and not other.statement:
            continue
        if _under(other, condition) is None:
            break
        count = number
    own = {n.name for n in rest[:count] if isinstance(n, Declare)}
    if not changes_of(rest[count - 1] if count else node).isdisjoint(names):
        return 0
    used = {
        name
        for n in all_nodes(tuple(rest[count:]))
        for e in own_expressions(n)
        for name in symbols(e)
    }
    return count if own.isdisjoint(used) and _under(node, condition) is not None else 0


def _under(node: Node, condition: Expr) -> Body | None:
    """Return what a node does where `condition` holds; None if it does more than that."""
    if not isinstance(node, If):
        return None
    parts = operands(node.condition, BinaryOp.AND)
    if condition in parts:
        left = [part for part in parts if part != condition]
        if node.otherwise or (not left and isinstance(node.then[-1], Fail)):
            return None
        return (If(conjunction(left), node.then),) if left else node.then
    branches = []
    for body in (node.then, node.otherwise):
        inside = [_under(one, condition) for one in body]
        if None in inside:
            return None
        branches.append(tuple(part for one in inside for part in one or ()))
    return (If(node.condition, *branches),)
