"""Provide the passes' shared steps: substitution, renaming, bottom-up rewriting.

In: nodes.  Out: nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyopt.dataclass import replace
from polyopt.emit.regions import declared_names
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import Expr, Iter, Load, Symbol, VectorLoad, rewrite, sub
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import (
    Body,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    LoopFunction,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import all_nodes, changed, map_bodies, map_inner


def bottom_up(body: Body, rule: Callable[[Node], Body]) -> Body:
    """Return `body` with every node replaced by what `rule` says, innermost first."""
    found: list[Node] = []
    for node in body:
        checkpoint()
        found += rule(map_bodies(node, bottom_up, rule))
    return tuple(found)


def substituted(body: Body, values: Mapping[str, Expr]) -> Body:
    """Return `body` with iterators replaced; subscripts and bounds have their sums collected."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter():
                return values.get(part.name)
            case Load() | VectorLoad():
                index = tuple(normalize(rewrite(i, rule)) for i in part.index)
                return replace(part, index=index)
            case _:
                return None

    return tuple(_tidy_bounds(changed(node, rule)) for node in body)


def _tidy_bounds(node: Node) -> Node:
    node = map_inner(node, _tidy_bounds)
    if isinstance(node, For):
        return replace(node, lower=normalize(node.lower), upper=normalize(node.upper))
    return node


def renamed(body: Body, names: Mapping[str, str]) -> Body:
    """Return `body` with its locals and local arrays called as `names` says."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Symbol() if part.name in names:
                return replace(part, name=names[part.name])
            case Load() | VectorLoad() if part.array in names:
                index = tuple(rewrite(i, rule) for i in part.index)
                return replace(part, array=names[part.array], index=index)
            case _:
                return None

    def rename(node: Node) -> Body:
        match node:
            case Declare() | SetLocal():
                return (replace(node, name=names.get(node.name, node.name)),)
            case DeclareArray() | DeclareView():
                name = names.get(node.array.name, node.array.name)
                return (replace(node, array=replace(node.array, name=name)),)
            case For(reductions=found) if found:
                shared = tuple((op, replace(s, name=names.get(s.name, s.name))) for op, s in found)
                return (node.annotated(reductions=shared),)
            case _:
                return (node,)

    return bottom_up(tuple(changed(node, rule) for node in body), rename)


def local_names(body: Body) -> tuple[str, ...]:
    """Return the locals and local arrays declared directly in `body`."""
    return tuple(
        node.name if isinstance(node, Declare) else node.array.name
        for node in body
        if isinstance(node, Declare | DeclareArray | DeclareView)
    )


def trip_count(loop: For) -> int | None:
    """Return how often `loop` runs, or None when that is not a constant."""
    span = linear(sub(loop.upper, loop.lower))
    if span.terms:
        return None
    return max(0, -(-span.constant // loop.step))


class Names:
    """A source of fresh local names for one function."""

    def __init__(self, fn: LoopFunction) -> None:
        self._taken = {
            *fn.params,
            *(a.name for a in fn.arrays),
            *declared_names(fn.body),
            fn.name,
            *(getattr(a, "symbol", "") for a in fn.signature.arguments),
        }

    def fresh(self, wish: str) -> str:
        """Return `wish`, numbered if it is taken, and take it."""
        name, number = wish, 0
        while name in self._taken:
            number += 1
            name = f"{wish}{number}"
        self._taken.add(name)
        return name


def statements(body: Body) -> int:
    """Return how many nodes `body` has, all depths together."""
    return sum(1 for _ in all_nodes(body))
