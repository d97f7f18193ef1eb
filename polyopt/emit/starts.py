"""Start sums in registers: what nests store before them is set where the sums are loaded.

In: a nest that stores a constant to each element of a block, and a loop over blocks of terms whose
nests load the elements, add to them and store them.  Out: these locals are set to the constant in
the loop's first iteration; the nest before runs only where the loop has no iteration.
Leaves: loops that access the elements in another way, or an element more than once in an iteration.
Whether all elements are started is left to the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import expressions
from polyopt.ir.expr import (
    Broadcast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    substitute,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.names import iterators
from polyopt.ir.nodes import bodies, map_bodies, with_bodies


def start_sums(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with sums started in registers; `fn` itself where there are none to start."""
    body = _inside(fn.body)
    return fn if body == fn.body else replace(fn, body=body)


def _inside(body: Body) -> Body:
    found: list[Node] = []
    for node in body:
        node = map_bodies(node, _inside)
        before = _start(found[-1]) if found else None
        started = None if before is None else _started(node, before)
        if started is not None:
            assert isinstance(node, For)
            found[-1] = If(Compare(CompareOp.LE, node.upper, node.lower), (found[-1],))
        found.append(started or node)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Start:
    """The constant that a nest stores to elements, one for each iterator in their subscripts."""

    assign: Assign
    value: Const

    def of(self, local: Declare, cell: Load | VectorLoad) -> SetLocal:
        """Return what sets a local, which was loaded from `cell`, to the constant."""
        own = {part.name: index for part, index in self.pairs(cell) if isinstance(part, Iter)}
        instance = tuple(normalize(substitute(part, own)) for part in self.assign.instance)
        steps: tuple[int, ...] = ()
        value: Expr = self.value
        if local.lanes > 1:
            last = self.assign.target.index[-1]
            steps = tuple(dict(linear(part).terms).get(last, 0) for part in self.assign.instance)
            value = Broadcast(value, local.dtype, local.lanes)
        name = self.assign.statement
        return SetLocal(local.name, local.dtype, local.lanes, value, name, instance, steps)

    def pairs(self, cell: Load | VectorLoad) -> Iterator[tuple[Expr, Expr]]:
        """Yield each subscript of the nest with that of `cell`."""
        return zip(self.assign.target.index, cell.index, strict=True)


def _start(node: Node) -> _Start | None:
    """Return what a nest stores, where its loops are the subscripts."""
    loops: set[str] = set()
    while isinstance(node, For) and len(node.body) == 1:
        loops.add(node.iter)
        (node,) = node.body
    match node:
        case Assign(target=Load() as target, value=Const() as value) if loops:
            moved = [index.name for index in target.index if isinstance(index, Iter)]
            is_each = sorted(moved) == sorted(loops) and len(moved) == len(target.index)
            return _Start(node, value) if is_each and node.statement else None
        case _:
            return None


def _started(node: Node, start: _Start) -> For | None:
    """Return a loop over blocks of terms with its locals started, or None for other nodes."""
    if not isinstance(node, For) or node.kind is not LoopKind.SEQUENTIAL:
        return None
    first = Compare(CompareOp.EQ, Iter(node.iter), node.lower)
    body = _with_starts(node.body, (), start, first)
    return None if body is None or body == node.body else replace(node, body=body)


def _with_starts(
    body: Body, around: tuple[For | If, ...], start: _Start, first: Expr
) -> Body | None:
    """Return `body`, inside loops, with its locals started; None where it does something else."""
    array = start.assign.target.array
    found: list[Node] = []
    waiting: list[Node] = []
    held: dict[str, Load | VectorLoad] = {}
    for node in body:
        cell = node.value if isinstance(node, Declare) and not node.statement else None
        if isinstance(node, Declare) and _is_of(cell, array):
            assert isinstance(cell, Load | VectorLoad)
            if not _is_moved(cell, around, iterators(first)):
                return None
            held[node.name] = cell
            waiting.append(start.of(node, cell))
            found.append(node)
            continue
        if waiting and not isinstance(node, Declare):
            found.append(If(first, tuple(waiting)))
            waiting = []
        if isinstance(node, Assign) and held.get(_stored(node)) == node.target:
            del held[_stored(node)]
            found.append(node)
            continue
        if any(_is_of(part, array) for value in expressions(node) for part in walk(value)):
            return None
        inner = (*around, node) if isinstance(node, For | If) else around
        parts = [_with_starts(part, inner, start, first) for part in bodies(node)]
        if None in parts:
            return None
        found.append(with_bodies(node, tuple(part for part in parts if part is not None)))
    return None if held else tuple(found)


def _stored(node: Assign) -> str:
    return node.value.name if isinstance(node.value, Symbol) and not node.statement else ""


def _is_of(part: Expr | None, array: str) -> bool:
    return isinstance(part, Load | VectorLoad) and part.array == array


def _is_moved(
    cell: Load | VectorLoad, around: tuple[For | If, ...], blocks: frozenset[str]
) -> bool:
    """Tell whether each of the loops moves the element: it is in a subscript, in the bounds of a
    loop that is, or in a condition; and whether the loop over blocks of terms does not.
    """
    known = {name for index in cell.index for name in iterators(index)}
    if known & blocks:
        return False
    for node in reversed(around):
        if isinstance(node, If):
            known |= iterators(node.condition)
        elif node.iter in known:
            known |= iterators(node.lower) | iterators(node.upper)
        else:
            return False
    return True
