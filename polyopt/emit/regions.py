"""What a piece of the loop AST uses from outside: sizes, iterators, locals, arrays.

In: a body.  Out: the free names, each once, in order of first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import assert_never

from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, VectorLoad, walk
from polyopt.ir.loops import (
    Assign,
    Body,
    Comment,
    Declare,
    DeclareArray,
    For,
    If,
    Node,
    SetLocal,
)
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Local:
    """A local of the loop AST."""

    name: str
    dtype: DType
    lanes: int


@dataclass(frozen=True, slots=True)
class Free:
    """Names a body uses and does not declare."""

    params: tuple[str, ...]
    iters: tuple[str, ...]
    locals: tuple[Local, ...]
    arrays: tuple[str, ...]
    set_locals: tuple[str, ...]


def nodes(body: Body) -> Iterator[Node]:
    """Yield every node of `body`, parents first."""
    for node in body:
        yield node
        match node:
            case For():
                yield from nodes(node.body)
            case If():
                yield from nodes(node.then)
                yield from nodes(node.otherwise)
            case Assign() | Declare() | SetLocal() | DeclareArray() | Comment():
                pass
            case _:
                assert_never(node)


def expressions(node: Node) -> tuple[Expr, ...]:
    """Return the expressions directly in `node`, the target of an assignment included."""
    match node:
        case For():
            return (node.lower, node.upper, *(symbol for _, symbol in node.reductions))
        case If():
            return (node.condition,)
        case Assign():
            return (node.target, node.value)
        case Declare() | SetLocal():
            return (node.value,)
        case DeclareArray():
            return node.array.shape
        case Comment():
            return ()
        case _:
            assert_never(node)


def written_arrays(body: Body) -> frozenset[str]:
    """Return the arrays `body` writes."""
    return frozenset(n.target.array for n in nodes(body) if isinstance(n, Assign))


def declared_names(body: Body) -> frozenset[str]:
    """Return the iterators, locals and arrays declared anywhere in `body`."""
    found: set[str] = set()
    for node in nodes(body):
        match node:
            case For():
                found.add(node.iter)
            case Declare():
                found.add(node.name)
            case DeclareArray():
                found.add(node.array.name)
            case If() | Assign() | SetLocal() | Comment():
                pass
            case _:
                assert_never(node)
    return frozenset(found)


def free_names(body: Body) -> Free:
    """Return what `body` uses from outside; a name declared anywhere in `body` is its own."""
    params: dict[str, None] = {}
    iters: dict[str, None] = {}
    found: dict[str, Local] = {}
    arrays: dict[str, None] = {}
    assigned: dict[str, None] = {}
    own = declared_names(body)
    for node in nodes(body):
        if isinstance(node, SetLocal):
            assigned[node.name] = None
        for part in (p for e in expressions(node) for p in walk(e)):
            match part:
                case Param():
                    params[part.name] = None
                case Iter():
                    iters[part.name] = None
                case Symbol():
                    found.setdefault(part.name, Local(part.name, part.dtype, part.lanes))
                case Load() | VectorLoad():
                    arrays[part.array] = None
                case _:
                    pass
    return Free(
        tuple(params),
        tuple(name for name in iters if name not in own),
        tuple(local for local in found.values() if local.name not in own),
        tuple(name for name in arrays if name not in own),
        tuple(name for name in assigned if name not in own),
    )
