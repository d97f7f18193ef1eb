"""Remove dead locals, and the loops that become empty.

In: a loop AST.  Out: the same without them.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.dataclass import replace
from polyopt.emit.nodes import expressions, nested, with_nested
from polyopt.emit.regions import nodes
from polyopt.ir.expr import Symbol, walk
from polyopt.ir.loops import Body, Declare, For, If, Kernel, LoopFunction, Node, SetLocal


def remove_dead_copies(body: Body, names: Collection[str]) -> Body:
    """Return `body` without dead copies into locals in `names`.

    The values of the source's statements stay, since the proof looks for them.
    """
    idle = set(names) - _used(body)
    return _without(body, idle, statements=False) if idle else body


def remove_dead_locals(fn: LoopFunction) -> LoopFunction:
    """Return `fn` as it is printed: without assignments to locals that are never read."""
    body = fn.body
    while True:
        declared = {node.name for node in nodes(body) if isinstance(node, Declare)}
        idle = declared - _used(body)
        if not idle:
            return fn if body is fn.body else replace(fn, body=body)
        body = _without(body, idle, statements=True)


def _used(body: Body) -> set[str]:
    """Return the locals that something reads or sets again."""
    again = {node.name for node in nodes(body) if isinstance(node, SetLocal)}
    exprs = (expr for node in nodes(body) for expr in expressions(node))
    return again | {part.name for e in exprs for part in walk(e) if isinstance(part, Symbol)}


def _without(body: Body, names: Collection[str], *, statements: bool) -> Body:
    """Return the body without locals of these names, and without empty loops."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, Declare) and node.name in names and (statements or not node.statement):
            continue
        inner = tuple(_without(part, names, statements=statements) for part in nested(node))
        if isinstance(node, For | If | Kernel) and any(nested(node)) and not any(inner):
            continue
        result.append(with_nested(node, inner))
    return tuple(result)
