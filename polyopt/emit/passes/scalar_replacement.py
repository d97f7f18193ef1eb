"""Replace array elements that a loop updates by scalars while it runs.

In: a sequential loop whose body is straight-line, or such a loop alone.  Out: loads before it,
stores after it.  Leaves: elements another access may touch, faults (other threads note theirs too).
A loop that may run zero times gets a condition around the whole: nothing is read that the source
does not read.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.disjoint import LoopBox
from polyopt.emit.passes.rewriting import Names, trip_count
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, Symbol, VectorLoad, walk
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.nodes import changed, map_bodies
from polyopt.ir.scop import Role


@dataclass(frozen=True, slots=True)
class Cell:
    """An element, or `lanes` of them that are `step` apart, that a body accesses."""

    array: str
    index: tuple[Expr, ...]
    lanes: int
    step: int = 1


def replace_in_loops(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with accumulators in scalars."""
    names = Names(fn)
    shared = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)

    return replace(fn, body=_inside(fn.body, (), names, shared))


def _inside(body: Body, loops: tuple[For, ...], names: Names, shared: frozenset[str]) -> Body:
    """Return `body`, inside `loops`, with accumulators in scalars, innermost loops first."""
    found: list[Node] = []
    for node in body:
        checkpoint()
        around = (*loops, node) if isinstance(node, For) else loops
        node = map_bodies(node, _inside, around, names, shared)
        if isinstance(node, For) and node.kind is LoopKind.SEQUENTIAL:
            found += _replaced(node, LoopBox(around), names, shared)
        else:
            found.append(node)
    return tuple(found)


def _replaced(loop: For, box: LoopBox, names: Names, shared: frozenset[str]) -> Body:
    if not all(isinstance(node, Assign | Declare | SetLocal) for node in loop.body):
        return _lifted(loop)
    accesses = _accesses(loop.body)
    chosen: dict[Cell, Symbol] = {}
    for node in loop.body:
        if not isinstance(node, Assign):
            continue
        cell = _cell(node.target)
        if cell in chosen or cell.array in shared or not _is_steady(cell, loop):
            continue
        others = [other for other in accesses if other.array == cell.array and other != cell]
        if all(box.are_disjoint(cell, other) for other in others):
            wish = names.fresh(f"{cell.array}_acc")
            chosen[cell] = Symbol(wish, node.target.dtype, cell.lanes)
    if not chosen:
        return (loop,)
    return _guarded(loop, _with_locals(loop, chosen))


def _lifted(loop: For) -> Body:
    """Hoist the scalars of a loop that is all of the body of `loop` out of it.

    The elements, and whether the inner loop runs at all, are the same in every iteration: an access
    that is disjoint in one of them is disjoint in all.
    """
    conditions: list[Expr] = []
    body = loop.body
    while len(body) == 1 and isinstance(body[0], If) and not body[0].otherwise:
        conditions.append(body[0].condition)
        body = body[0].then
    place = next((n for n, node in enumerate(body) if isinstance(node, For)), None)
    if not place or not all(_is_fixed(condition, loop) for condition in conditions):
        return (loop,)
    before, inner, after = body[:place], body[place], body[place + 1 :]
    loaded = [_loaded(node) for node in before]
    stored = [_stored(node) for node in after]
    if None in loaded or loaded != stored:
        return (loop,)
    if not all(_is_steady(cell, loop) for _, cell in filter(None, loaded)):
        return (loop,)
    found = (*before, replace(loop, body=(inner,)), *after)
    if Compare(CompareOp.GT, loop.upper, loop.lower) not in conditions:
        found = _guarded(loop, found)
    for condition in reversed(conditions):
        found = (If(condition, found),)
    return found


def _loaded(node: Node) -> tuple[str, Cell] | None:
    """Return a local and the element that it is loaded from."""
    match node:
        case Declare(statement="", value=Load() | VectorLoad() as memory):
            return node.name, _cell(memory)
        case _:
            return None


def _stored(node: Node) -> tuple[str, Cell] | None:
    """Return a local and the element that it is stored to."""
    match node:
        case Assign(statement="", value=Symbol() as local):
            return local.name, _cell(node.target)
        case _:
            return None


def _is_fixed(condition: Expr, loop: For) -> bool:
    """Tell whether a condition on sizes and outer loops is the same while `loop` runs."""
    parts = walk(condition)
    return not any(isinstance(p, Load | VectorLoad | Symbol) or p == Iter(loop.iter) for p in parts)


def _accesses(body: Body) -> tuple[Cell, ...]:
    found: dict[Cell, None] = {}
    for node in body:
        parts: list[Expr] = []
        match node:
            case Assign():
                parts = [node.target, node.value]
            case Declare() | SetLocal():
                parts = [node.value]
            case _:
                pass
        for part in (p for e in parts for p in walk(e)):
            if isinstance(part, Load | VectorLoad):
                found[_cell(part)] = None
    return tuple(found)


def _cell(access: Load | VectorLoad) -> Cell:
    if isinstance(access, Load):
        return Cell(access.array, access.index, 1)
    return Cell(access.array, access.index, access.lanes, access.step)


def _is_steady(cell: Cell, loop: For) -> bool:
    """Tell whether the address stays the same while `loop` runs."""
    for part in (p for i in cell.index for p in walk(i)):
        if isinstance(part, Load | Symbol) or part == Iter(loop.iter):
            return False
    return True


def _with_locals(loop: For, chosen: Mapping[Cell, Symbol]) -> Body:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad):
            return chosen.get(_cell(part))
        return None

    body = tuple(changed(node, rule) for node in loop.body)
    before = tuple(
        Declare(symbol.name, symbol.dtype, symbol.lanes, _memory(cell, symbol))
        for cell, symbol in chosen.items()
    )
    after = tuple(Assign(_memory(cell, symbol), symbol) for cell, symbol in chosen.items())
    return (*before, replace(loop, body=body), *after)


def _memory(cell: Cell, symbol: Symbol) -> Load | VectorLoad:
    if symbol.lanes == 1:
        return Load(cell.array, cell.index, symbol.dtype)
    return VectorLoad(cell.array, cell.index, symbol.dtype, symbol.lanes, cell.step)


def _guarded(loop: For, body: Body) -> Body:
    count = trip_count(loop)
    if count is not None and count > 0:
        return body
    return (If(Compare(CompareOp.GT, loop.upper, loop.lower), body),)
