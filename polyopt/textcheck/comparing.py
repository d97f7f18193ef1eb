"""Text read back and compared with the loops that it should be the text of.

In: C text, certified loops.  Out: the first difference of the iterations, elements, order or
parallel loops; None where there is none.  Nothing of what printed the text is used.
Refuses: text that is not read as a whole, explicit vectors, kernels, calls (`Uncompared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

import islpy as isl

from polyopt.cregion.syntax import parse_unit
from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.ir.affine import NotAffine, condition_set, pw_aff, set_space
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
    DeclareArray,
    For,
    If,
    LoopFunction,
    LoopKind,
    SetLocal,
    Space,
)  # fmt: skip
from polyopt.ir.names import params
from polyopt.ir.types import DType
from polyopt.textcheck.reading import functions_of
from polyopt.textcheck.scope import Function
from polyopt.textcheck.tokens import without_hints

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
    lanes: bool = False
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Event:
    """An element that is read or written, in the order of the text."""

    array: str
    index: tuple[Expr, ...]
    is_write: bool
    levels: tuple[Level, ...]
    conditions: tuple[Expr, ...]
    exact: bool


_KINDS = (LoopKind.SEQUENTIAL, LoopKind.UNROLL, LoopKind.PARALLEL, LoopKind.VECTOR)
_OPERATORS = {
    BinaryOp.ADD: "+", BinaryOp.MUL: "*", BinaryOp.AND: "&", BinaryOp.OR: "|", BinaryOp.XOR: "^",
}  # fmt: skip
"""Operators of reduction clauses; those of others are not compared."""


@dataclass(frozen=True, eq=False)
class _Sets:
    """Iterations of accesses over the sizes `params`, of which `context` holds."""

    params: Sequence[str]
    context: tuple[Expr, ...]
    known: dict[tuple[int, ...], isl.Set] = field(default_factory=dict)
    equal: dict[tuple[int, int], bool] = field(default_factory=dict)

    def have_same(self, one: Event, two: Event) -> bool:
        """Tell whether two accesses have the same iterations, and the same element in each."""
        ours, theirs = self._iterations(one), self._iterations(two)
        pair = id(ours), id(theirs)
        if pair not in self.equal:
            self.equal[pair] = ours.is_equal(theirs)
        if not self.equal[pair]:
            return False
        for mine, other in zip(one.index, two.index, strict=True):
            apart = self._number(one, mine).ne_set(self._number(two, other))
            if not ours.intersect(apart).is_empty():
                return False
        return True

    def _iterations(self, event: Event) -> isl.Set:
        key = (*(id(level) for level in event.levels), -1, *(id(c) for c in event.conditions))
        found = self.known.get(key)
        if found is None:
            space = self._space(event)
            found = isl.Set.universe(space)
            conditions = (c for level in event.levels for c in level.conditions)
            for condition in (*self.context, *conditions, *event.conditions):
                found = found.intersect(condition_set(condition, space))
            for position in range(len(event.levels)):
                found = found.set_dim_name(isl.dim_type.set, position, f"c{position}")
            self.known[key] = found
        return found

    def _number(self, event: Event, value: Expr) -> isl.PwAff:
        found = pw_aff(value, self._space(event))
        for position in range(len(event.levels)):
            found = found.set_dim_id(isl.dim_type.in_, position, isl.Id(f"c{position}"))
        return found

    def _space(self, event: Event) -> isl.Space:
        return set_space(self.params, "", [level.iter for level in event.levels])


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, and where in the text."""

    what: str
    loc: Loc


def difference(loops: LoopFunction, text: str, file: str) -> Difference | None:
    """Return what differs first; raises `Uncompared`."""
    unit = parse_unit(without_hints(text).encode(), file)
    every = [f for f in functions_of(unit.root, unrolled=True) if f.accesses or f.unread]
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
    sets = _Sets(params, context)
    theirs = list(_of_loops(loops.body, (), (), {}, True))
    ours = list(_of_text(function, {event.array for event in theirs}))
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
            what = _difference_of(one, two, before, sets)
            if what is None:
                before = one, rest.pop(place)
                break
        if what is not None:
            return Difference(what, unit.loc(node))
    if rest:
        return Difference(f"an access of {rest[0].array} is missing", unit.loc(function.node))
    return None


def _difference_of(
    one: Event, two: Event, before: tuple[Event, Event] | None, over: _Sets
) -> str | None:
    try:
        return _differs(one, two, before, over)
    except NotAffine as error:
        raise Uncompared(str(error)) from None


def _differs(one: Event, two: Event, before: tuple[Event, Event] | None, over: _Sets) -> str | None:
    """Return what differs of an access, as the text has it, from one of that array."""
    # iterations that run at the same time may be begun in any order
    kinds = [[level.parallel or level.step > 0 for level in side.levels] for side in (one, two)]
    if kinds[0] != kinds[1] or not may_run_so(one.levels, two.levels):
        return "its loops do not run as the certified ones: in order, or at the same time"
    if before is not None and _shared(before[0], one) != _shared(before[1], two):
        return "it is in other loops than the access before it"
    if one.exact != two.exact:
        return "it runs under another condition"
    if len(one.index) != len(two.index) or not over.have_same(one, two):
        return f"its iterations or elements of {one.array} are others"
    return None


def may_run_so(ours: tuple[Level, ...], theirs: tuple[Level, ...]) -> bool:
    """Tell whether loops of the text run as the certified ones, or more of them in order.

    Raises `Uncompared` where a loop outside of all parallel ones is in order that need not be:
    whether it pays to share it out is not known here.
    """
    inside = False
    for one, two in zip(ours, theirs, strict=True):
        if (one.parallel and not two.parallel) or (one.lanes and not two.lanes):
            return False
        if (one.parallel or one.lanes) and one.reductions != two.reductions:
            return False
        if two.parallel and not one.parallel and not inside:
            raise Uncompared("a loop that may be parallel is in order")
        if two.lanes and not one.lanes:
            raise Uncompared("a loop that may run in lanes is in order")
        inside = inside or one.parallel
    return True


def _shared(one: Event, two: Event) -> int:
    """Return how many loops two accesses have in common."""
    return sum(a.loop is b.loop for a, b in zip(one.levels, two.levels, strict=False))


def _of_text(function: Function, arrays: set[str]) -> Iterator[tuple[Event, Node]]:
    levels: dict[int, Level] = {}
    for access in function.accesses:
        if access.array not in arrays:
            continue
        if access.index is None:
            raise Uncompared("a subscript is found while the program runs")
        for loop in access.place.loops:
            own = Level(
                loop, loop.iter, loop.conditions, loop.step, loop.shared_out, loop.lanes,
                loop.reductions,
            )  # fmt: skip
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
            case Comment() | DeclareArray(space=Space.LOCAL):
                pass
            case For(kind=kind, lanes=1) if kind in _KINDS:
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
                lanes = node.kind is LoopKind.VECTOR
                combined = tuple(sorted(_OPERATORS.get(op, "?") for op, _ in node.reductions))
                own = Level(node, node.iter, between, node.step, parallel, lanes, combined)
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
    sizes = sorted(params(condition))
    try:
        condition_set(condition, set_space(sizes, "", [level.iter for level in levels]))
    except NotAffine:
        return False
    return True
