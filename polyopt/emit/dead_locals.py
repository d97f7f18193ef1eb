"""Remove dead locals, and the loops that become empty.

In: a loop AST.  Out: the same without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from polyopt.dataclass import replace
from polyopt.emit.regions import expressions
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    Node,
    SetLocal,
)
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, bodies, with_bodies

_RUNS = (Assign, Declare, Fail, SetLocal)
"""Nodes that may run a statement of the source."""


def remove_dead_copies(body: Body, names: Collection[str]) -> Body:
    """Return `body` without dead copies into locals in `names`.

    The values of the source's statements stay, since the proof looks for them.
    """
    idle = set(names) - _used(body)
    return _without(body, idle, statements=False) if idle else body


def remove_dead_locals(fn: LoopFunction) -> LoopFunction:
    """Return `fn` without locals that are never read.

    Of a statement of the source all instances go, or none: the proof shows of a whole statement
    that nothing reads its values.
    """
    body = _begun_where_set(fn.body)
    while True:
        used = _used(body)
        idle = [n for n in all_nodes(body) if isinstance(n, Declare) and n.name not in used]
        runs = Counter(n.statement for n in all_nodes(body) if isinstance(n, _RUNS))
        runs.subtract(node.statement for node in idle)
        names = {node.name for node in idle if not (node.statement and runs[node.statement])}
        if not names:
            return fn if body is fn.body else replace(fn, body=body)
        body = _without(body, names, statements=True)


def _begun_where_set(body: Body) -> Body:
    """Return `body` with locals that are set before anything reads them declared there."""
    found: list[Node] = []
    begun = set[int]()
    for place, node in enumerate(body):
        if isinstance(node, Declare) and not node.statement:
            first = _first_use(node.name, body, place + 1)
            if first is not None:
                begun.add(first)
                continue
        if place in begun and isinstance(node, SetLocal):
            parts = (node.statement, node.instance, node.steps)
            node = Declare(node.name, node.dtype, node.lanes, node.value, *parts)
        found.append(with_bodies(node, tuple(map(_begun_where_set, bodies(node)))))
    return tuple(found)


def _first_use(name: str, body: Body, start: int) -> int | None:
    """Return the place of the node that sets a local before anything reads it, or None."""
    for place in range(start, len(body)):
        node = body[place]
        if isinstance(node, SetLocal) and node.name == name:
            return None if name in symbols(node.value) else place
        if name in _used((node,)) or (isinstance(node, For) and _combines(node, name)):
            return None
    return None


def _combines(loop: For, name: str) -> bool:
    return any(symbol.name == name for _, symbol in loop.reductions)


def unused_locals(body: Body) -> frozenset[str]:
    """Return the locals that `body` declares and nothing in it reads or sets again."""
    declared = {node.name for node in body if isinstance(node, Declare)}
    return frozenset(declared - _used(body)) if declared else frozenset()


def _used(body: Body) -> set[str]:
    """Return the locals that something reads or sets again."""
    again = {node.name for node in all_nodes(body) if isinstance(node, SetLocal)}
    exprs = (expr for node in all_nodes(body) for expr in expressions(node))
    return again | symbols(*exprs)


def _without(body: Body, names: Collection[str], *, statements: bool) -> Body:
    """Return the body without locals of these names, and without empty loops."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, Declare) and node.name in names and (statements or not node.statement):
            continue
        inner = tuple(_without(part, names, statements=statements) for part in bodies(node))
        if isinstance(node, For | If | Kernel) and any(bodies(node)) and not any(inner):
            continue
        result.append(with_bodies(node, inner))
    return tuple(result)
