"""Names that mean one thing: inner loops and locals that hide outer ones get names of their own.

In: a loop AST, whose names have C's scopes.  Out: the same with no name declared inside itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyopt.ir.expr import Expr, Iter, Symbol
from polyopt.ir.loops import Body, Declare, For, Node, SetLocal
from polyopt.proof.nodes import bodies, changed, with_bodies


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
    old = loop.iter

    def rule(part: Expr) -> Expr | None:
        return Iter(fresh) if isinstance(part, Iter) and part.name == old else None

    return replace(loop, iter=fresh, body=tuple(changed(node, rule) for node in loop.body))


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
