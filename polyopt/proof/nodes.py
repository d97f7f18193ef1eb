"""Collect what loop ASTs read, write and set.

In: nodes of `polyopt.ir.loops`.  Out: expressions, names of arrays and locals.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.expr import Expr
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    DeclareArray,
    For,
    Node,
    SetLocal,
)
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, own_expressions


def expressions(body: Body) -> Iterator[Expr]:
    """Yield the expressions of the nodes, at all depths."""
    for node in all_nodes(body):
        yield from own_expressions(node)


def written(body: Body) -> frozenset[str]:
    """Return the arrays that `body` may change."""
    return frozenset(name for node in all_nodes(body) for name in own_written(node))


def own_written(node: Node) -> tuple[str, ...]:
    """Return the arrays that a node itself may change."""
    match node:
        case Assign():
            return (node.target.array,)
        case AllocateArray() | DeclareArray():
            return (node.array.name,)
        case CallLibrary():
            return tuple(array.name for array in node.outputs)
        case _:
            return ()


def set_locals(body: Body) -> frozenset[str]:
    """Return the locals that are assigned after their declaration."""
    return frozenset(n.name for n in all_nodes(body) if isinstance(n, SetLocal))


def uses(node: Node, name: str) -> bool:
    """Tell whether a node, or one inside it, reads or sets the local `name`."""
    for inner in all_nodes((node,)):
        if isinstance(inner, SetLocal) and inner.name == name:
            return True
        if isinstance(inner, For) and any(symbol.name == name for _, symbol in inner.reductions):
            return True
        if any(name in symbols(expr) for expr in own_expressions(inner)):
            return True
    return False
