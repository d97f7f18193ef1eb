"""Text read back and compared with the loops that it should be the text of.

In: C text, certified loops.  Out: the first difference of the iterations, elements, order or
parallel loops; None where there is none.  Nothing of what printed the text is used.
Refuses: text that is not read as a whole, loops of vectors, kernels and calls (`Uncompared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import islpy as isl

from polyopt.cregion.syntax import parse_unit
from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.ir.affine import NotAffine, condition_set, index_map, set_space
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    integer,
    rewrite,
    walk,
)  # fmt: skip
from polyopt.ir.loops import (
    Assign,
    Body,
    Comment,
    Declare,
    For,
    If,
    LoopFunction,
    LoopKind,
    SetLocal,
)  # fmt: skip
from polyopt.ir.types import DType
from polyopt.textcheck.nest import Function
from polyopt.textcheck.reading import functions_of

if TYPE_CHECKING:
    from tree_sitter import Node


class Uncompared(Exception):
    """The text, or the loops, are more than what is compared."""


@dataclass(frozen=True, eq=False)
class Level:
    """A loop around an access: what holds of its iterator, and how its iterations run."""

    loop: object
    iter: str
    conditions: tuple[Expr, ...]
    step: int
    parallel: bool


@dataclass(frozen=True, eq=False)
class Event:
    """An element that is read or written, in the order of the text."""

    array: str
    index: tuple[Expr, ...]
    is_write: bool
    levels: tuple[Level, ...]
    conditions: tuple[Expr, ...]
    exact: bool


_Sizes: TypeAlias = tuple[Sequence[str], tuple[Expr, ...]]
"""Names of sizes, and what holds of them: extents are not negative."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, and where in the text."""

    what: str
    loc: Loc


def difference(loops: LoopFunction, text: str, file: str) -> Difference | None:
    """Return what differs first; raises `Uncompared`."""
    unit = parse_unit(text.encode(), file)
    every = [f for f in functions_of(unit.root) if f.accesses or f.unread]
    called = {name for one in every for name in one.calls}
    found = [one for one in every if one.name not in called]
    if len(found) != 1 or found[0].unread:
        raise Uncompared(found[0].unread[0][1] if found and found[0].unread else "no one function")
    (function,) = found
    known = {*loops.params, *(part.name for part in _symbols(loops.body))}
    if function.params.keys() - known:
        raise Uncompared("sizes have other names in the text")
    params = sorted({*loops.params, *function.params})
    sizes = [p for array in loops.arrays for p in array.shape if isinstance(p, Param)]
    context = tuple(Compare(CompareOp.GE, size, integer(0)) for size in dict.fromkeys(sizes))
    theirs = list(_of_loops(loops.body, (), (), {}, True))
    ours = list(_of_text(function, {array.name for array in loops.arrays}))
    memory = {event.array for event in theirs}
    ours = [(event, node) for event, node in ours if event.array in memory]
    before: tuple[Event, Event] | None = None
    rest = list(theirs)
    for one, node in ours:
        last = next((n for n, event in enumerate(rest) if event.is_write), len(rest))
        if one.is_write and last > 0:
            return Difference(f"it does not read {rest[0].array} first", unit.loc(node))
        candidates = [last] if one.is_write else range(last)
        what: str | None = f"it is one more access of {one.array} than the loops have there"
        for place in candidates:
            two = rest[place] if place < len(rest) else None
            if two is None or (two.array, two.is_write) != (one.array, one.is_write):
                continue
            what = _difference_of(one, two, before, (params, context))
            if what is None:
                before = one, rest.pop(place)
                break
        if what is not None:
            return Difference(what, unit.loc(node))
    if rest:
        return Difference(f"an access of {rest[0].array} is missing", unit.loc(function.node))
    return None


def _difference_of(
    one: Event, two: Event, before: tuple[Event, Event] | None, over: _Sizes
) -> str | None:
    try:
        return _differs(one, two, before, over)
    except NotAffine as error:
        raise Uncompared(str(error)) from None


def _differs(
    one: Event, two: Event, before: tuple[Event, Event] | None, over: _Sizes
) -> str | None:
    """Return what differs of an access, as the text has it, from one of that array."""
    kinds = [[(level.parallel, level.step > 0) for level in side.levels] for side in (one, two)]
    if kinds[0] != kinds[1]:
        return "its loops do not run as the certified ones: in order, or at the same time"
    if before is not None and _shared(before[0], one) != _shared(before[1], two):
        return "it is in other loops than the access before it"
    if one.exact != two.exact:
        return "it runs under another condition"
    if not _relation(one, over).is_equal(_relation(two, over)):
        return f"its iterations or elements of {one.array} are others"
    return None


def _shared(one: Event, two: Event) -> int:
    """Return how many loops two accesses have in common."""
    return sum(a.loop is b.loop for a, b in zip(one.levels, two.levels, strict=False))


def _relation(event: Event, over: _Sizes) -> isl.Map:
    """Return { iteration -> element } with iterators by their places."""
    params, context = over
    space = set_space(params, "", [level.iter for level in event.levels])
    inside = isl.Set.universe(space)
    for condition in context:
        inside = inside.intersect(condition_set(condition, space))
    for level in event.levels:
        for condition in level.conditions:
            inside = inside.intersect(condition_set(condition, space))
    for condition in event.conditions:
        inside = inside.intersect(condition_set(condition, space))
    found = index_map(inside, "", event.index or (integer(0),)).intersect_domain(inside)
    for position in range(len(event.levels)):
        found = found.set_dim_name(isl.dim_type.in_, position, f"c{position}")
    return found


def _of_text(function: Function, arrays: set[str]) -> Iterator[tuple[Event, Node]]:
    levels: dict[int, Level] = {}
    for access in function.accesses:
        if access.array not in arrays:
            continue
        if access.index is None:
            raise Uncompared("a subscript is found while the program runs")
        for loop in access.place.loops:
            if loop.lanes:
                raise Uncompared("lanes of a vector are not compared")
            own = Level(loop, loop.iter, loop.conditions, loop.step, loop.shared_out)
            levels.setdefault(id(loop), own)
        around = tuple(levels[id(loop)] for loop in access.place.loops)
        place = access.place
        event = Event(
            access.array, access.index, access.is_write, around, place.conditions, place.exact
        )
        yield event, access.node


def _of_loops(
    body: Body,
    levels: tuple[Level, ...],
    conditions: tuple[Expr, ...],
    known: dict[str, Expr],
    exact: bool,
) -> Iterator[Event]:
    """Yield the accesses of certified loops in the order that C evaluates them in."""
    known = dict(known)
    for node in body:
        match node:
            case Comment():
                pass
            case For(kind=LoopKind.SEQUENTIAL | LoopKind.PARALLEL):
                lower, upper = (_plain(side, known) for side in (node.lower, node.upper))
                counter = Iter(node.iter)
                away = Binary(BinaryOp.SUB, counter, lower, DType.INT64)
                rest = Binary(BinaryOp.MOD, away, integer(node.step), DType.INT64)
                whole = Compare(CompareOp.EQ, rest, integer(0))
                between = (
                    Compare(CompareOp.GE, counter, lower),
                    Compare(CompareOp.LT, counter, upper),
                    *((whole,) if node.step > 1 else ()),
                )
                parallel = node.kind is LoopKind.PARALLEL
                own = Level(node, node.iter, between, node.step, parallel)
                yield from _of_loops(node.body, (*levels, own), conditions, known, exact)
            case If():
                yield from _reads(node.condition, levels, conditions, known, exact)
                holds = _plain(node.condition, known)
                affine = _is_affine(holds, levels)
                no = Unary(UnaryOp.INVERT, holds, DType.BOOL)
                for part, condition in ((node.then, holds), (node.otherwise, no)):
                    inside = (*conditions, condition) if affine else conditions
                    yield from _of_loops(part, levels, inside, known, exact and affine)
            case Declare(lanes=1) | SetLocal(lanes=1):
                yield from _reads(node.value, levels, conditions, known, exact)
                if isinstance(node, Declare) and node.dtype is DType.INT64:
                    known[node.name] = _plain(node.value, known)
            case Assign(target=Load(), is_async=False):
                yield from _reads(node.value, levels, conditions, known, exact)
                target = node.target
                assert isinstance(target, Load)
                index = tuple(_plain(part, known) for part in target.index)
                yield Event(target.array, index, True, levels, conditions, exact)
            case _:
                raise Uncompared(f"{type(node).__name__} is not compared")


def _reads(
    value: Expr,
    levels: tuple[Level, ...],
    conditions: tuple[Expr, ...],
    known: dict[str, Expr],
    exact: bool,
) -> Iterator[Event]:
    for part in walk(value):
        if isinstance(part, VectorLoad):
            raise Uncompared("vectors are not compared")
        if isinstance(part, Load):
            index = tuple(_plain(one, known) for one in part.index)
            yield Event(part.array, index, False, levels, conditions, exact)


def _plain(expr: Expr, known: dict[str, Expr]) -> Expr:
    """Return an expression without the locals that it is made of."""
    return rewrite(expr, lambda part: known.get(part.name) if isinstance(part, Symbol) else None)


def _symbols(body: Body) -> Iterator[Symbol]:
    """Yield the numbers that bounds and conditions use."""
    for node in body:
        match node:
            case For():
                yield from (p for e in (node.lower, node.upper) for p in walk(e) if _is_symbol(p))
                yield from _symbols(node.body)
            case If():
                yield from (part for part in walk(node.condition) if _is_symbol(part))
                yield from _symbols((*node.then, *node.otherwise))
            case _:
                pass


def _is_symbol(part: Expr) -> TypeGuard[Symbol]:
    return isinstance(part, Symbol)


def _is_affine(condition: Expr, levels: tuple[Level, ...]) -> bool:
    params = sorted({part.name for part in walk(condition) if isinstance(part, Param)})
    try:
        condition_set(condition, set_space(params, "", [level.iter for level in levels]))
    except NotAffine:
        return False
    return True
