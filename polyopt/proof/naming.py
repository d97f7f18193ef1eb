"""Rename shadowed iterators, and locals and arrays declared under one name.

In: a loop AST, whose names have C's scopes.  Out: the same without shadowed names, every local and
every declared array under a unique name.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, VectorLoad, rewrite
from polyopt.ir.loops import Body, Declare, DeclareArray, For, LoopKind, Node, SetLocal
from polyopt.ir.nodes import changed, map_bodies, map_inner, own_changed


def unhidden(body: Body, taken: frozenset[str], names: Iterator[str]) -> Body:
    """Return `body` without shadowed iterators, all declared names unique."""
    return _Renaming(names, set()).body(body, taken)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """`names` are fresh ones, `declared` those that locals and arrays have already."""

    names: Iterator[str]
    declared: set[str]

    def body(self, body: Body, taken: frozenset[str]) -> Body:
        found: list[Node] = []
        rest = list(body)
        while rest:
            node = rest.pop(0)
            match node:
                case For():
                    if node.iter in taken:
                        node = _renamed_loop(node, next(self.names))
                    inner = self.body(node.body, taken | {node.iter})
                    found.append(replace(node, body=inner))
                    continue
                case Declare():
                    if node.name in taken | self.declared:
                        fresh = next(self.names)
                        rest = [_renamed(later, node.name, fresh) for later in rest]
                        node = replace(node, name=fresh)
                    taken = taken | {node.name}
                    self.declared.add(node.name)
                case DeclareArray(array=array):
                    if array.name in self.declared:
                        fresh = next(self.names)
                        rest = [_rehoused(later, array.name, fresh) for later in rest]
                        node = replace(node, array=replace(array, name=fresh))
                    self.declared.add(node.array.name)
                case _:
                    pass
            found.append(map_bodies(node, self.body, taken))
        return tuple(found)


def _rehoused(node: Node, old: str, fresh: str) -> Node:
    """Return `node` with accesses to array `old` replaced by accesses to `fresh`."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad) and part.array == old:
            index = tuple(rewrite(i, rule) for i in part.index)
            return replace(part, array=fresh, index=index)
        return None

    return _combining(changed(node, rule), old, fresh)


def _combining(node: Node, old: str, fresh: str) -> Node:
    """Return `node` with reductions of threads into array `old` going to `fresh`."""
    if isinstance(node, For) and node.kind is LoopKind.THREAD:
        own = ((op, replace(s, name=fresh) if s.name == old else s) for op, s in node.reductions)
        node = node.annotated(reductions=tuple(own))
    return map_inner(node, _combining, old, fresh)


def _renamed_loop(loop: For, fresh: str) -> For:
    return replace(loop, iter=fresh, body=_called(loop.body, loop.iter, fresh))


def _called(body: Body, old: str, fresh: str) -> Body:
    """Return `body` with the iterator `old` of the loop around it renamed to `fresh`.

    Except where an inner loop or a local of that name shadows it.
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
            return (*found, own_changed(node, rule), *body[position + 1 :])
        renewed = own_changed(node, rule)
        if not (isinstance(node, For) and node.iter == old):
            renewed = map_bodies(renewed, _called, old, fresh)
        found.append(renewed)
    return tuple(found)


def _renamed(node: Node, old: str, fresh: str) -> Node:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Symbol) and part.name == old:
            return replace(part, name=fresh)
        return None

    return _inner(changed(node, rule), old, fresh)


def _inner(node: Node, old: str, fresh: str) -> Node:
    """Rename the targets of nodes, which `changed` leaves alone."""
    if isinstance(node, SetLocal | Declare) and node.name == old:
        return replace(node, name=fresh)
    if isinstance(node, For):
        reductions = tuple(
            (op, replace(s, name=fresh) if s.name == old else s) for op, s in node.reductions
        )
        node = node.annotated(reductions=reductions)
    return map_inner(node, _inner, old, fresh)
