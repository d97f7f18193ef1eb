"""Walk and rebuild loop-AST nodes.

In: a node.  Out: its own expressions, its bodies, and the node with either replaced.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import replace
from polyopt.ir.expr import Expr, Load, Symbol, VectorLoad, rewrite
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Kernel,
    Node,
    SetLocal,
    While,
    updated,
)
from polyopt.ir.scop import Array
from polyopt.never import assert_never

Rule = Callable[[Expr], Expr | None]


def expressions(node: Node) -> tuple[Expr, ...]:
    """Return a node's own expressions, without its bodies' and its instance's."""
    match node:
        case For():
            return (node.lower, node.upper, *(told for _, told in node.streams))
        case If() | While():
            return (node.condition,)
        case Assign():
            return (node.target, node.value)
        case Declare() | SetLocal():
            return (node.value,)
        case AllocateArray():
            return node.array.shape
        case DeclareArray() | CallLibrary() | Comment() | Break() | Fail():
            return ()
        case Kernel() | Barrier() | CommitCopies() | AwaitCopies():
            return ()
        case _:
            assert_never(node)


def nested(node: Node) -> tuple[Body, ...]:
    """Return a node's bodies."""
    match node:
        case For() | While():
            return (node.body,)
        case Kernel():
            return (node.body, node.finish) if node.finish else (node.body,)
        case If():
            return (node.then, node.otherwise)
        case Assign() | Declare() | SetLocal() | DeclareArray() | Comment():
            return ()
        case Break() | Fail() | AllocateArray() | CallLibrary() | Barrier():
            return ()
        case CommitCopies() | AwaitCopies():
            return ()
        case _:
            assert_never(node)


def with_nested(node: Node, bodies: tuple[Body, ...]) -> Node:
    """Return the node with its bodies replaced, in the order of `nested`."""
    match node:
        case For() | While():
            return updated(node, body=bodies[0])
        case Kernel():
            return updated(node, body=bodies[0], finish=bodies[1] if bodies[1:] else ())
        case If():
            return updated(node, then=bodies[0], otherwise=bodies[1])
        case Assign() | Declare() | SetLocal() | DeclareArray() | Comment():
            return node
        case Break() | Fail() | AllocateArray() | CallLibrary() | Barrier():
            return node
        case CommitCopies() | AwaitCopies():
            return node
        case _:
            assert_never(node)


def map_node(node: Node, rule: Rule) -> Node:
    """Return a node with `rule` applied to every expression in it and below, instances included.

    An assignment whose target becomes a `Symbol` becomes a `SetLocal`.
    """
    inner = tuple(tuple(map_node(part, rule) for part in body) for body in nested(node))
    node = with_nested(node, inner)
    match node:
        case For():
            return updated(node, lower=rewrite(node.lower, rule), upper=rewrite(node.upper, rule))
        case If() | While():
            return updated(node, condition=rewrite(node.condition, rule))
        case Assign():
            target = rewrite(node.target, rule)
            value = rewrite(node.value, rule)
            instance = tuple(rewrite(part, rule) for part in node.instance)
            if isinstance(target, Symbol):
                return SetLocal(
                    target.name, target.dtype, target.lanes, value, node.statement, instance,
                    node.steps,
                )  # fmt: skip
            assert isinstance(target, Load | VectorLoad)
            return updated(node, target=target, value=value, instance=instance)
        case Declare() | SetLocal():
            instance = tuple(rewrite(part, rule) for part in node.instance)
            return updated(node, value=rewrite(node.value, rule), instance=instance)
        case AllocateArray() | DeclareArray():
            return updated(node, array=_reshaped(node.array, rule))
        case CallLibrary():
            inputs = tuple(_reshaped(array, rule) for array in node.inputs)
            outputs = tuple(_reshaped(array, rule) for array in node.outputs)
            return updated(node, inputs=inputs, outputs=outputs)
        case Comment() | Break() | Fail() | Kernel() | Barrier():
            return node
        case CommitCopies() | AwaitCopies():
            return node
        case _:
            assert_never(node)


def map_body(body: Body, rule: Rule) -> Body:
    """Return a body with `rule` applied to every expression in it."""
    return tuple(map_node(node, rule) for node in body)


def _reshaped(array: Array, rule: Rule) -> Array:
    return replace(array, shape=tuple(rewrite(extent, rule) for extent in array.shape))
