"""Print nests that stand twice in a function once, for readers.

In: the nodes of a function, one of them.  Out: the call of a function of its own, which is made
where the nest is printed first.  Nests are the same if they differ in names of their own locals.
Refuses: nests that set locals of the text around, leave early or give memory.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit import outlining
from polyopt.emit.c_statements import Code, Line, calling
from polyopt.emit.early_exits import leaves_early
from polyopt.emit.regions import free_names, thread_arrays
from polyopt.ir.expr import Expr, Symbol
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, Node, SetLocal
from polyopt.ir.nodes import all_nodes, map_inner, own_changed

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter

LEAST_LOOPS = 3
"""Loops of a nest that is worth a function."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The nests of a text that stand in it more than once, and the calls of those printed."""

    repeated: frozenset[Node] = frozenset()
    calls: dict[Node, list[Code]] = field(default_factory=dict)


def shared_nests(body: Body) -> Shared:
    """Return the nests that stand in `body` more than once."""
    found = Counter(_canonical(node) for node in all_nodes(body) if _is_candidate(node))
    return Shared(frozenset(nest for nest, times in found.items() if times > 1))


def shared_call(emitter: BodyEmitter, node: Node) -> list[Code] | None:
    """Return the call of the function that a repeated nest is; None for other nodes."""
    shared = emitter.shared
    if shared is None or not shared.repeated or not _is_candidate(node):
        return None
    nest = _canonical(node)
    if nest not in shared.repeated:
        return None
    if nest not in shared.calls:
        free = free_names((node,))
        if free.set_locals or any("[" in emitter.name(local.name) for local in free.locals):
            return None
        inside = replace(emitter, shared=shared_nests(tuple(_bodies(node))))
        name, arguments = outlining.outlined(inside, (node,), "part", free)
        shared.calls[nest] = [Line(line) for line in calling(name, arguments, ";")]
    return shared.calls[nest]


def _bodies(node: Node) -> Body:
    match node:
        case For():
            return node.body
        case If():
            return (*node.then, *node.otherwise)
        case _:
            return ()


def _is_candidate(node: Node) -> bool:
    """Tell whether a node may be a function of its own, and is large enough."""
    if not isinstance(node, For | If) or leaves_early((node,)) or thread_arrays((node,)):
        return False
    loops = [n for n in all_nodes((node,)) if isinstance(n, For)]
    return len(loops) >= LEAST_LOOPS and all(n.kind is not LoopKind.PARALLEL for n in loops)


def _canonical(node: Node) -> Node:
    """Return a node with its own locals numbered, without the instances that it runs."""
    names: dict[str, str] = {}
    for inner in all_nodes((node,)):
        if isinstance(inner, Declare):
            names.setdefault(inner.name, f"={len(names)}")

    def rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Symbol) and expr.name in names:
            return replace(expr, name=names[expr.name])
        return None

    def renamed(one: Node) -> Node:
        bare = own_changed(one, rule)
        if isinstance(bare, Declare | SetLocal):
            bare = replace(bare, name=names.get(bare.name, bare.name), instance=(), steps=())
        elif isinstance(bare, Assign):
            bare = replace(bare, instance=(), steps=())
        elif isinstance(bare, For):
            bare = replace(bare, label="")
        return map_inner(bare, renamed)

    return renamed(node)
