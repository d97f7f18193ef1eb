"""Walk and rebuild loop ASTs.

In: nodes of `polyopt.ir.loops`.  Out: their bodies, their expressions, rebuilt nodes.
A node that a change leaves as it is stays the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, TypeAlias

from polyopt.dataclass import replace
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr, Load, Symbol, VectorLoad, rewrite
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    If,
    Kernel,
    LoopKind,
    Node,
    Place,
    SetLocal,
    While,
    updated,
)

Rule: TypeAlias = Callable[[Expr], Expr | None]
_P = ParamSpec("_P")


def bodies(node: Node) -> tuple[Body, ...]:
    """Return the bodies of a node, in order."""
    match node:
        case For() | While():
            return (node.body,)
        case Kernel():
            return (node.body, node.finish) if node.finish else (node.body,)
        case If():
            return (node.then, node.otherwise)
        case _:
            return ()


def with_bodies(node: Node, parts: tuple[Body, ...]) -> Node:
    """Return `node` with its bodies replaced, in the order of `bodies`."""
    match node:
        case For() | While():
            return updated(node, body=parts[0])
        case Kernel():
            return updated(node, body=parts[0], finish=parts[1] if parts[1:] else ())
        case If():
            return updated(node, then=parts[0], otherwise=parts[1])
        case _:
            return node


def map_bodies(
    node: Node, change: Callable[Concatenate[Body, _P], Body], *args: _P.args, **named: _P.kwargs
) -> Node:
    """Return `node` with each of its bodies replaced by `change(body, *args, **named)`."""
    return with_bodies(node, tuple([change(part, *args, **named) for part in bodies(node)]))


def map_inner(
    node: Node, change: Callable[Concatenate[Node, _P], Node], *args: _P.args, **named: _P.kwargs
) -> Node:
    """Return `node` with each node directly in it replaced by `change(inner, *args, **named)`."""
    parts = [tuple([change(n, *args, **named) for n in part]) for part in bodies(node)]
    return with_bodies(node, tuple(parts))


def all_nodes(body: Body) -> Iterator[Node]:
    """Yield every node of `body`, parents first."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        for part in reversed(bodies(node)):
            waiting += reversed(part)


def nodes_in_loops(
    body: Body, around: tuple[For, ...] = ()
) -> Iterator[tuple[tuple[For, ...], Node]]:
    """Yield every node of `body` with the counted loops around it, parents first."""
    for node in body:
        yield around, node
        loops = (*around, node) if isinstance(node, For) else around
        for part in bodies(node):
            yield from nodes_in_loops(part, loops)


def unrepeated_nodes(body: Body) -> Iterator[Node]:
    """Yield the nodes of `body` that are in no loop inside it, parents first."""
    for node in body:
        yield node
        if isinstance(node, If):
            yield from unrepeated_nodes(node.then)
            yield from unrepeated_nodes(node.otherwise)


def kernels_of(body: Body) -> Iterator[Kernel]:
    """Yield the kernels of `body`."""
    return (node for node in all_nodes(body) if isinstance(node, Kernel))


def has_loop(body: Body, *kinds: LoopKind) -> bool:
    """Tell whether a loop of one of `kinds` is anywhere in `body`."""
    return any(isinstance(node, For) and node.kind in kinds for node in all_nodes(body))


def own_expressions(node: Node) -> tuple[Expr, ...]:
    """Return the expressions that a node itself evaluates; of targets, the subscripts."""
    match node:
        case For():
            return (node.lower, node.upper)
        case If() | While():
            return (node.condition,)
        case Assign():
            return (node.value, *node.target.index)
        case Declare() | SetLocal():
            return (node.value,)
        case DeclareView():
            return (node.condition, node.then.first, node.otherwise.first)
        case _:
            return ()


def own_changed(node: Node, rule: Rule) -> Node:
    """Return `node` with `rule` applied to its own expressions: targets, shapes, tags included.

    An assignment whose target becomes a `Symbol` becomes a `SetLocal`.
    """
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
        case DeclareView():
            then, otherwise = _moved(node.then, rule), _moved(node.otherwise, rule)
            condition = rewrite(node.condition, rule)
            return updated(node, condition=condition, then=then, otherwise=otherwise)
        case CallLibrary():
            inputs = tuple(_reshaped(array, rule) for array in node.inputs)
            outputs = tuple(_reshaped(array, rule) for array in node.outputs)
            return updated(node, inputs=inputs, outputs=outputs)
        case _:
            return node


def _reshaped(array: Array, rule: Rule) -> Array:
    return replace(array, shape=tuple(rewrite(extent, rule) for extent in array.shape))


def _moved(place: Place, rule: Rule) -> Place:
    """Return a place with `rule` applied; a value in place of its first element is none."""
    first = rewrite(place.first, rule)
    if not isinstance(first, Load):
        index = tuple(rewrite(subscript, rule) for subscript in place.first.index)
        first = replace(place.first, index=index)
    return place if first is place.first else Place(first, place.steps)


def changed(node: Node, rule: Rule) -> Node:
    """Return `node` with `rule` applied to every expression in it and below."""
    return map_inner(own_changed(node, rule), changed, rule)


def changed_body(body: Body, rule: Rule) -> Body:
    """Return a body with `rule` applied to every expression in it."""
    return tuple(changed(node, rule) for node in body)
