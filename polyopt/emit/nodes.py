"""Collect and rewrite the expressions of loop-AST nodes, shapes of arrays included.

In: a node.  Out: its own expressions, and the node with expressions replaced.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr, rewrite
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    DeclareArray,
    For,
    Node,
    updated,
)
from polyopt.ir.nodes import Rule, map_inner, own_changed, own_expressions


def expressions(node: Node) -> tuple[Expr, ...]:
    """Return a node's own expressions, without its bodies' and its instance's."""
    match node:
        case For():
            return (node.lower, node.upper, *(told for _, told in node.streams))
        case Assign():
            return (node.target, node.value)
        case AllocateArray():
            return node.array.shape
        case _:
            return own_expressions(node)


def map_node(node: Node, rule: Rule) -> Node:
    """Return a node with `rule` applied to every expression in it and below, instances included.

    An assignment whose target becomes a `Symbol` becomes a `SetLocal`.
    """
    return own_mapped(map_inner(node, map_node, rule), rule)


def own_mapped(node: Node, rule: Rule) -> Node:
    """Return a node with `rule` applied to its own expressions."""
    match node:
        case AllocateArray() | DeclareArray():
            return updated(node, array=_reshaped(node.array, rule))
        case CallLibrary():
            inputs = tuple(_reshaped(array, rule) for array in node.inputs)
            outputs = tuple(_reshaped(array, rule) for array in node.outputs)
            return updated(node, inputs=inputs, outputs=outputs)
        case _:
            return own_changed(node, rule)


def map_body(body: Body, rule: Rule) -> Body:
    """Return a body with `rule` applied to every expression in it."""
    return tuple(map_node(node, rule) for node in body)


def _reshaped(array: Array, rule: Rule) -> Array:
    return replace(array, shape=tuple(rewrite(extent, rule) for extent in array.shape))
