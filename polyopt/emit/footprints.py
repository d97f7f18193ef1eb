"""Compute the footprint of an array in one iteration of a loop.

In: a lowered loop, an array whose values live in its iterations.  Out: the dimensions of the
footprint, each with its origin and extent; the loop's body with such an array instead.
Uses the bounds of loops and the conditions around the accesses.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import expressions
from polyopt.ir.affine import span
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    VectorLoad,
    integer,
    sub,
    walk,
)
from polyopt.ir.integers import OPPOSITE
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.loops import Body, DeclareArray, For, If, Space
from polyopt.ir.names import has_iterator, iterators
from polyopt.ir.nodes import bodies, changed
from polyopt.ir.scop import Array
from polyopt.ir.types import DType

MAX_PADDING = 64
"""Elements that a layout adds to a dimension."""
MOST_BOUNDS = 16
"""Bounds of a subscript that are compared."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension kept: `origin` is subtracted from each subscript; `extent` is its size."""

    position: int
    origin: Expr
    extent: Expr


def needed_dimensions(loop: For, array: Array, *, exact: bool = False) -> list[Dim]:
    """Return the dimensions of which one iteration of `loop` uses several places.

    Where no constant bounds these, they are all that the array has.  `exact`: where the terms of
    bounds do not tell a constant, isl is asked.
    """
    uses = _uses(loop.body, array.name, {})
    known = _equalities(loop.body, array.name, {})
    kept: list[Dim] = []
    for position, extent in enumerate(array.shape):
        indices = [use.access.index[position] for use in uses]
        if _is_one(indices, known) and not any(
            has_iterator(index, use.ranges) for index, use in zip(indices, uses, strict=True)
        ):
            continue
        box = _box(position, uses) or (_exact_box(position, uses) if exact else None)
        kept.append(_padded(box or Dim(position, integer(0), extent), array))
    return kept


def with_array(loop: For, array: Array, dims: list[Dim], space: Space) -> Body:
    """Return the body of `loop` with an array of these dimensions instead of `array`."""
    shape = tuple(dim.extent for dim in dims)
    turn = array.turn if _keeps_swizzle(array, dims, shape) else None
    local = replace(array, shape=shape, turn=turn)

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad) and part.array == array.name:
            index = tuple(_minus(part.index[dim.position], dim.origin) for dim in dims)
            return replace(part, index=index)
        return None

    return (DeclareArray(local, space), *(changed(node, rule) for node in loop.body))


def _keeps_swizzle(array: Array, kept: list[Dim], shape: tuple[Expr, ...]) -> bool:
    """Tell whether the local array keeps the swizzle of `array`."""
    turn, rank = array.turn, len(array.shape)
    if turn is None or not turn.fits(shape):
        return False
    return [dim.position for dim in kept[-1 - turn.back :]] == [*range(rank - 1 - turn.back, rank)]


def _padded(dim: Dim, array: Array) -> Dim:
    """Return a dimension with what its layout adds behind it."""
    declared = array.shape[dim.position]
    if not isinstance(declared, Const) or not isinstance(dim.extent, Const):
        return dim
    added = int(declared.value.real) - int(dim.extent.value.real)
    is_padding = dim.origin == integer(0) and 0 < added <= MAX_PADDING
    return replace(dim, extent=declared) if is_padding else dim


_Known = dict[str, Expr]
"""What conditions around a place say that iterators are."""


def _equalities(body: Body, array: str, known: _Known) -> list[_Known]:
    """Return what is known at each access, in the order of `_uses`."""
    found: list[_Known] = []
    for node in body:
        found += [
            known
            for expr in expressions(node)
            for part in walk(expr)
            if isinstance(part, Load | VectorLoad) and part.array == array
        ]
        for number, inner in enumerate(bodies(node)):
            holds = isinstance(node, If) and number == 0
            more = _told(node.condition) if isinstance(node, If) and holds else {}
            found += _equalities(inner, array, known | more)
    return found


def _told(condition: Expr) -> _Known:
    match condition:
        case Binary(op=BinaryOp.AND):
            return _told(condition.left) | _told(condition.right)
        case Compare(op=CompareOp.EQ, left=Iter(name=name)):
            return {name: condition.right}
        case _:
            return {}


def _is_one(indices: list[Expr], known: list[_Known]) -> bool:
    """Tell whether subscripts are the same value, by what is known at each of them."""
    common = next((index for index in indices if isinstance(index, Iter)), indices[0])
    return all(
        index == common or (isinstance(common, Iter) and here.get(common.name) == index)
        for index, here in zip(indices, known, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _BoundedAccess:
    """An access: the bounds of the loops between it and the scope, and its conditions.

    Each of the `facts` is at least zero.
    """

    access: Load | VectorLoad
    ranges: dict[str, tuple[Expr, Expr]]
    facts: tuple[Linear, ...]


def _uses(
    body: Body, array: str, ranges: dict[str, tuple[Expr, Expr]], facts: tuple[Linear, ...] = ()
) -> list[_BoundedAccess]:
    """Return the accesses in the body of a scope, or of a loop or condition inside it."""
    found: list[_BoundedAccess] = []
    for node in body:
        found += (
            _BoundedAccess(part, ranges, facts)
            for expr in expressions(node)
            for part in walk(expr)
            if isinstance(part, Load | VectorLoad) and part.array == array
        )
        match node:
            case For():
                inside = ranges | {node.iter: (node.lower, node.upper)}
                found += _uses(node.body, array, inside, facts)
            case If():
                found += _uses(node.then, array, ranges, (*facts, *_facts(node.condition)))
                found += _uses(node.otherwise, array, ranges, (*facts, *_opposite(node.condition)))
            case _:
                for inner in bodies(node):
                    found += _uses(inner, array, ranges, facts)
    return found


def _facts(condition: Expr) -> Iterator[Linear]:
    """Yield what is at least zero where a condition holds."""
    match condition:
        case Binary(op=BinaryOp.AND):
            yield from _facts(condition.left)
            yield from _facts(condition.right)
        case Compare(op=op, left=left, right=right) if left.dtype is DType.INT64:
            over, under = sub(left, right), sub(right, left)
            if op in (CompareOp.GE, CompareOp.EQ):
                yield linear(over)
            if op in (CompareOp.LE, CompareOp.EQ):
                yield linear(under)
            if op is CompareOp.GT:
                yield linear(sub(over, integer(1)))
            if op is CompareOp.LT:
                yield linear(sub(under, integer(1)))
        case _:
            pass


def _opposite(condition: Expr) -> Iterator[Linear]:
    """Yield what is at least zero where a condition does not hold."""
    match condition:
        case Binary(op=BinaryOp.OR):
            yield from _opposite(condition.left)
            yield from _opposite(condition.right)
        case Compare(op=op) if op is not CompareOp.EQ:
            yield from _facts(replace(condition, op=OPPOSITE[op]))
        case _:
            pass


def _box(position: int, uses: list[_BoundedAccess]) -> Dim | None:
    """Return the constant box that holds all subscripts of one dimension, or None."""
    lowers = [_extremes(use, position, 0) for use in uses]
    uppers = [_extremes(use, position, 1) for use in uses]
    best: tuple[int, Linear] | None = None
    for base in {frozenset(bound.terms): bound for found in lowers for bound in found}.values():
        spread = _widest(base, uses, lowers, uppers)
        if spread is not None and (best is None or spread[0] < best[0]):
            best = spread
    if best is None:
        return None
    return Dim(position, from_linear(best[1]), integer(best[0] + 1))


def _widest(
    base: Linear, uses: list[_BoundedAccess], lowers: list[list[Linear]], uppers: list[list[Linear]]
) -> tuple[int, Linear] | None:
    """Return (extent - 1, origin) when bounds of all uses differ from `base` by constants."""
    least, most = [], []
    for use, low, high in zip(uses, lowers, uppers, strict=True):
        least.append([c for bound in low for c in _constants(bound, base, use.facts, -1)])
        most.append([c for bound in high for c in _constants(bound, base, use.facts, 1)])
        if not least[-1] or not most[-1]:
            return None
    first = min(map(max, least))
    return max(map(min, most)) - first, Linear(first, base.terms)


def _constants(bound: Linear, base: Linear, facts: tuple[Linear, ...], sign: int) -> Iterator[int]:
    """Yield what bounds with the terms of `base` have as constants: above (1), or below it (-1).

    A number of at least zero, any times, may be added to a bound above, or taken from one below.
    """
    rest = dict(base.terms)
    for atom, factor in bound.terms:
        rest[atom] = rest.get(atom, 0) - factor
    rest = {atom: factor for atom, factor in rest.items() if factor}
    if not rest:
        yield bound.constant
        return
    first, wanted = next(iter(rest.items()))
    for fact in facts:
        terms = dict(fact.terms)
        times = sign * wanted // terms[first] if first in terms else 0
        if times > 0 and rest == {a: sign * times * f for a, f in terms.items()}:
            yield bound.constant + sign * times * fact.constant


def _exact_box(position: int, uses: list[_BoundedAccess]) -> Dim | None:
    """Return the constant box by the bounds of all loops and all conditions, or None."""
    seen = {(u.access.index[position], *u.ranges.items(), *u.facts): u for u in uses}
    bases = {tuple(low.terms): low for low in _extremes(uses[0], position, 0)}
    for base in bases.values():
        spans = [_span(use, position, base) for use in seen.values()]
        found = [span for span in spans if span is not None]
        if len(found) == len(spans):
            first, last = min(low for low, _ in found), max(high for _, high in found)
            origin = Linear(base.constant + first, base.terms)
            return Dim(position, from_linear(origin), integer(last - first + 1))
    return None


def _span(use: _BoundedAccess, position: int, base: Linear) -> tuple[int, int] | None:
    """Return by how much a subscript is more than `base`, at least and at most."""
    distance = sub(use.access.index[position], from_linear(base))
    around: list[Expr] = []
    for name, (low, high) in use.ranges.items():
        around.append(Compare(CompareOp.GE, Iter(name), low))
        around.append(Compare(CompareOp.LT, Iter(name), high))
    around += (Compare(CompareOp.GE, from_linear(fact), integer(0)) for fact in use.facts)
    conditions = _about(distance, around)
    return span(distance, conditions)


def _about(expr: Expr, conditions: list[Expr]) -> list[Expr]:
    """Return the conditions on the iterators of `expr`, and on those that these lead to."""
    reached, found = iterators(expr), list[Expr]()
    waiting = conditions
    while more := [one for one in waiting if iterators(one) & reached]:
        found += more
        waiting = [one for one in waiting if one not in more]
        reached = reached.union(*map(iterators, more))
    return found


def _extremes(use: _BoundedAccess, position: int, side: int) -> list[Linear]:
    """Return bounds of a subscript over the inner loops, below (side 0) or above it (side 1)."""
    found: list[Linear] = []
    ranges = use.ranges
    waiting = [(linear(use.access.index[position]), len(ranges))]
    while waiting and len(found) < MOST_BOUNDS:
        value, left = waiting.pop(0)
        inner = next(
            ((a, c) for a, c in value.terms if isinstance(a, Iter) and a.name in ranges), None
        )
        if inner is None:
            if not any(has_iterator(atom, ranges) for atom, _ in value.terms):
                found.append(value)
            continue
        if not left:
            continue
        atom, factor = inner
        assert isinstance(atom, Iter)
        low, high = ranges[atom.name]
        take_low = (side == 0) == (factor > 0)
        shift = 0 if take_low else -factor
        terms = [(a, c) for a, c in value.terms if a != atom]
        combined = from_linear(Linear(value.constant + shift, tuple(terms)))
        for bound in _picks(low, BinaryOp.MAX) if take_low else _picks(high, BinaryOp.MIN):
            scaled = Binary(BinaryOp.MUL, integer(factor), bound, bound.dtype)
            total = linear(Binary(BinaryOp.ADD, combined, scaled, bound.dtype))
            waiting.append((total, left - 1))
    return found


def _picks(bound: Expr, op: BinaryOp) -> list[Expr]:
    """Return a bound, or the operands of a min or max that are of tiles: over iterators alone."""
    if not (isinstance(bound, Binary) and bound.op in (BinaryOp.MIN, BinaryOp.MAX)):
        return [bound]
    if bound.op is not op:
        return []
    parts = [part for side in (bound.left, bound.right) for part in _picks(side, op)]
    return [p for p in parts if all(isinstance(a, Iter) for a, _ in linear(p).terms)]


def _minus(index: Expr, origin: Expr) -> Expr:
    difference = Binary(BinaryOp.SUB, index, origin, index.dtype)
    return from_linear(linear(difference))
