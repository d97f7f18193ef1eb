"""Collect the free names of a part of the loop AST: sizes, iterators, locals, arrays.

In: a body.  Out: the free names, each once, in order of first use.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Call, Expr, Iter, Load, MathFunc, Param, Symbol, VectorLoad, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    Space,
)
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.ir.scop import Array
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


def expressions(node: Node) -> tuple[Expr, ...]:
    """Return the expressions directly in `node`, the target of an assignment included."""
    match node:
        case For():
            # threads combine into an array
            own = () if node.kind is LoopKind.THREAD else node.reductions
            told = (symbol for _, symbol in node.streams)
            return (node.lower, node.upper, *(symbol for _, symbol in own), *told)
        case Assign():
            return (node.target, node.value)
        case DeclareArray() | AllocateArray():
            return node.array.shape
        case CallLibrary():
            return tuple(e for array in (*node.inputs, *node.outputs) for e in array.shape)
        case _:
            return own_expressions(node)


def draws_words(body: Body) -> bool:
    """Tell whether `body` computes random words."""
    exprs = (expr for node in all_nodes(body) for expr in own_expressions(node))
    return any(
        isinstance(part, Call) and part.func is MathFunc.PHILOX
        for expr in exprs
        for part in walk(expr)
    )


def runs_in_order(loop: For) -> bool:
    """Tell whether an iteration runs its statements one after the other: not in lanes."""
    return loop.kind in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL) and loop.lanes == 1


def written_arrays(body: Body) -> frozenset[str]:
    """Return the arrays `body` writes, those it gives new memory included."""
    found: set[str] = set()
    for node in all_nodes(body):
        match node:
            case Assign():
                found.add(node.target.array)
            case AllocateArray():
                found.add(node.array.name)
            case CallLibrary():
                found.update(array.name for array in node.outputs)
            case _:
                pass
    return frozenset(found)


def thread_arrays(body: Body) -> tuple[Array, ...]:
    """Return the arrays in `body` that each thread has one of."""
    found = {
        node.array.name: node.array
        for node in all_nodes(body)
        if isinstance(node, DeclareArray) and node.space is Space.THREAD
    }
    return tuple(found.values())


def region_arrays(body: Body) -> tuple[Array, ...]:
    """Return the arrays in `body` that each thread of a parallel loop has one of."""
    loops = (n for n in all_nodes(body) if isinstance(n, For) and n.kind is LoopKind.PARALLEL)
    found = {array.name: array for loop in loops for array in thread_arrays(loop.body)}
    return tuple(found.values())


def whole_arrays(node: Node) -> tuple[str, ...]:
    """Return the arrays that `node` uses as a whole, not element by element."""
    match node:
        case AllocateArray():
            return (node.array.name,)
        case CallLibrary():
            return tuple(array.name for array in (*node.inputs, *node.outputs))
        case _:
            return ()


def placed_by_data(body: Body) -> frozenset[str]:
    """Return the arrays with a subscript that reads an element."""
    return frozenset(
        place.array
        for node in all_nodes(body)
        for expr in expressions(node)
        for place in walk(expr)
        if isinstance(place, Load | VectorLoad)
        and any(isinstance(part, Load) for index in place.index for part in walk(index))
    )


def is_settled(expr: Expr, body: Body) -> bool:
    """Tell whether `expr` keeps its value while `body` runs, whatever `body` stores."""
    used: set[str] = set()
    for part in walk(expr):
        if isinstance(part, Load | VectorLoad):
            return False
        if isinstance(part, Symbol):
            used.add(part.name)
    return not used or not any(
        isinstance(node, SetLocal) and node.name in used for node in all_nodes(body)
    )


def leaves_itself(body: Body) -> bool:
    """Tell whether `body`, as a loop's, holds a `Break` of that loop."""
    for node in body:
        match node:
            case Break():
                return True
            case If():
                if leaves_itself(node.then) or leaves_itself(node.otherwise):
                    return True
            case For(kind=LoopKind.PARALLEL | LoopKind.VECTOR | LoopKind.UNROLL):
                if leaves_itself(node.body):
                    return True
            case _:
                pass
    return False


def declared_names(body: Body) -> frozenset[str]:
    """Return the iterators, locals and arrays declared anywhere in `body`."""
    found: set[str] = set()
    for node in all_nodes(body):
        match node:
            case For():
                found.add(node.iter)
            case Declare():
                found.add(node.name)
            case DeclareArray() | DeclareView():
                found.add(node.array.name)
            case _:
                pass
    return frozenset(found)


def free_names(body: Body) -> Free:
    """Return what `body` uses from outside; a name declared anywhere in `body` is its own.

    Memory of arrays that threads have comes from outside.
    """
    params: dict[str, None] = {}
    iters: dict[str, None] = {}
    found: dict[str, Local] = {}
    arrays: dict[str, None] = {}
    assigned: dict[str, None] = {}
    own = declared_names(body) - {array.name for array in thread_arrays(body)}
    for node in all_nodes(body):
        if isinstance(node, SetLocal):
            assigned[node.name] = None
        arrays.update(dict.fromkeys(whole_arrays(node)))
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
