"""Walk and rebuild loop ASTs, for the proof alone.

In: nodes of `polyopt.ir.loops`.  Out: their parts, their expressions, rebuilt nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.ir.expr import Expr, Load, Symbol, VectorLoad, rewrite, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    Node,
    SetLocal,
    While,
    updated,
)


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
    """Return `node` with its bodies replaced."""
    match node:
        case For() | While():
            return updated(node, body=parts[0])
        case Kernel():
            return updated(node, body=parts[0], finish=parts[1] if parts[1:] else ())
        case If():
            return updated(node, then=parts[0], otherwise=parts[1])
        case _:
            return node


def all_nodes(body: Body) -> Iterator[Node]:
    """Yield every node, parents first."""
    for node in body:
        yield node
        for part in bodies(node):
            yield from all_nodes(part)


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
        case _:
            return ()


def expressions(body: Body) -> Iterator[Expr]:
    """Yield the expressions of the nodes, at all depths."""
    for node in all_nodes(body):
        yield from own_expressions(node)


def reads(expr: Expr) -> frozenset[str]:
    """Return the arrays an expression reads."""
    return frozenset(p.array for p in walk(expr) if isinstance(p, Load | VectorLoad))


def symbols(expr: Expr) -> frozenset[str]:
    """Return the locals and scalars an expression uses."""
    return frozenset(p.name for p in walk(expr) if isinstance(p, Symbol))


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


Rule = Callable[[Expr], Expr | None]


def changed(node: Node, rule: Rule) -> Node:
    """Return `node` with `rule` applied to every expression in it, targets and tags included."""
    match node:
        case For():
            node = updated(node, lower=rewrite(node.lower, rule), upper=rewrite(node.upper, rule))
        case If() | While():
            node = updated(node, condition=rewrite(node.condition, rule))
        case Assign():
            target = rewrite(node.target, rule)
            assert isinstance(target, Load | VectorLoad)
            node = updated(
                node,
                target=target,
                value=rewrite(node.value, rule),
                instance=tuple(rewrite(part, rule) for part in node.instance),
            )
        case Declare() | SetLocal():
            node = updated(
                node,
                value=rewrite(node.value, rule),
                instance=tuple(rewrite(part, rule) for part in node.instance),
            )
        case _:
            pass
    inner = tuple(tuple(changed(n, rule) for n in part) for part in bodies(node))
    return with_bodies(node, inner)
