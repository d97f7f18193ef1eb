"""Names that mean one thing: inner loops and locals that hide outer ones get names of their own.

In: a loop AST, whose names have C's scopes.  Out: the same with no name declared inside itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyopt.ir.expr import Expr, Iter, Param, Symbol
from polyopt.ir.loops import Body, Declare, For, Node, SetLocal
from polyopt.proof.nodes import Rule, bodies, changed, with_bodies


def unhidden(body: Body, taken: frozenset[str], names: Iterator[str]) -> Body:
    """Return `body` with no iterator or local called like one around it."""
    found: list[Node] = []
    rest = list(body)
    while rest:
        node = rest.pop(0)
        if isinstance(node, For):
            if node.iter in taken:
                node = _renamed_loop(node, next(names))
            inner = unhidden(node.body, taken | {node.iter}, names)
            node = replace(node, body=inner)
        else:
            if isinstance(node, Declare):
                if node.name in taken:
                    fresh = next(names)
                    rest = [_renamed(later, node.name, fresh) for later in rest]
                    node = replace(node, name=fresh)
                taken = taken | {node.name}
            inner_bodies = tuple(unhidden(part, taken, names) for part in bodies(node))
            node = with_bodies(node, inner_bodies)
        found.append(node)
    return tuple(found)


def _renamed_loop(loop: For, fresh: str) -> For:
    return replace(loop, iter=fresh, body=_called(loop.body, loop.iter, fresh))


def _called(body: Body, old: str, fresh: str) -> Body:
    """Return `body` where the loop around it is called `fresh`: whatever is called `old` means it.

    But for what an inner loop or a local of that name hides again.
    """

    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter(name=name) | Param(name=name) if name == old:
                return Iter(fresh)
            case Symbol(name=name) if name == old:
                return replace(part, name=fresh)
            case _:
                return None

    found: list[Node] = []
    for position, node in enumerate(body):
        if isinstance(node, Declare) and node.name == old:
            own = _own(node, rule)
            return (*found, own, *body[position + 1 :])
        renewed = _own(node, rule)
        if not (isinstance(node, For) and node.iter == old):
            inner = tuple(_called(part, old, fresh) for part in bodies(node))
            renewed = with_bodies(renewed, inner)
        found.append(renewed)
    return tuple(found)


def _own(node: Node, rule: Rule) -> Node:
    """Return `node` with what it evaluates itself rewritten."""
    whole = bodies(node)
    return with_bodies(changed(with_bodies(node, tuple(() for _ in whole)), rule), whole)


def _renamed(node: Node, old: str, fresh: str) -> Node:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Symbol) and part.name == old:
            return replace(part, name=fresh)
        return None

    return _inner(changed(node, rule), old, fresh)


def _inner(node: Node, old: str, fresh: str) -> Node:
    """Rename what `changed` leaves: names that are set, not used."""
    if isinstance(node, SetLocal | Declare) and node.name == old:
        return replace(node, name=fresh)
    if isinstance(node, For):
        reductions = tuple(
            (op, replace(s, name=fresh) if s.name == old else s) for op, s in node.reductions
        )
        node = replace(node, reductions=reductions)
    return with_bodies(
        node, tuple(tuple(_inner(n, old, fresh) for n in part) for part in bodies(node))
    )
