"""Version loops on their subscripts: one test before a loop in place of one for each element.

In: loops whose subscripts are numbers found at run time plus iterators, wrapped from the end and
kept inside the array.  Out: `if` all of these lie inside: the same loops with plain subscripts;
`else` the loops as they were.  All values of a sum lie between the smallest and the largest.
Leaves: subscripts by numbers that the loop changes, bounds that depend on iterators, large bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.rewriting import statements
from polyopt.emit.passes.subscript_limits import (
    TRUE,
    Known,
    Limit,
    changes_of,
    names_of,
    simple,
)
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    add,
    conjunction,
    integer,
    loads,
    mul,
    sub,
    walk,
)
from polyopt.ir.linear import STEEPEST, Linear, from_linear, linear
from polyopt.ir.loops import Body, Declare, For, If, LoopFunction, LoopKind, Node, updated
from polyopt.ir.names import reads, symbols
from polyopt.ir.nodes import all_nodes, kernels_of, map_bodies, own_changed, own_expressions
from polyopt.ir.types import DType

LARGEST = 60
"""Nodes of a loop that is printed twice."""

_KINDS = (LoopKind.SEQUENTIAL, LoopKind.VECTOR, LoopKind.PARALLEL)


def version_on_subscripts(fn: LoopFunction, sizes: frozenset[str]) -> LoopFunction:
    """Return `fn` with such loops twice, the outermost that can be tested as a whole.

    `sizes` are locals with sizes that the program computes.
    """
    if next(kernels_of(fn.body), None) is not None:
        return fn
    return replace(fn, body=_versioned(fn.body, sizes, frozenset()))


def computed_sizes(fn: LoopFunction) -> frozenset[str]:
    """Return the locals of loops as they were lowered: sizes that the program computes."""
    found = (node for node in all_nodes(fn.body) if isinstance(node, Declare))
    return frozenset(n.name for n in found if n.dtype is DType.INT64 and not n.statement)


def _versioned(body: Body, sizes: frozenset[str], positive: frozenset[Linear]) -> Body:
    """Return a body that runs where the sums `positive` are above zero."""
    return tuple(_version(node, sizes, positive) for node in body)


def _version(node: Node, sizes: frozenset[str], positive: frozenset[Linear]) -> Node:
    if isinstance(node, For) and node.kind in _KINDS and statements(node.body) <= LARGEST:
        found = _Nest(node, sizes, positive).versions()
        if found is not None:
            return found
    if isinstance(node, If):
        then = _versioned(node.then, sizes, positive | _above_zero(node.condition))
        return updated(node, then=then, otherwise=_versioned(node.otherwise, sizes, positive))
    inside = positive | _above_zero(_runs(node)) if isinstance(node, For) else positive
    return map_bodies(node, _versioned, sizes, inside)


def _above_zero(condition: Expr) -> frozenset[Linear]:
    """Return the sum that a condition says is above zero."""
    match condition:
        case Compare(op=CompareOp.LT, left=low, right=high) if low.dtype is DType.INT64:
            return frozenset((linear(sub(high, low)),))
        case Compare(op=CompareOp.GT, left=high, right=low) if low.dtype is DType.INT64:
            return frozenset((linear(sub(high, low)),))
        case _:
            return frozenset()


@dataclass(frozen=True, slots=True)
class _Window:
    """A subscript that is meant to lie in `[0, extent)`."""

    index: Linear
    extent: Linear


@dataclass(frozen=True, slots=True)
class _Ends:
    """The smallest and the largest value of a subscript, if all of `needed` hold."""

    low: Linear
    high: Linear
    needed: tuple[Expr, ...]


class _Nest:
    """A loop with all that is in it."""

    def __init__(self, loop: For, sizes: frozenset[str], positive: frozenset[Linear]) -> None:
        self.loop = loop
        self.sizes = sizes
        self.positive = positive
        self.changed = changes_of(loop)

    def versions(self) -> Node | None:
        """Return the two versions under their test, None where there is nothing to gain."""
        found: dict[_Window, _Ends] = {}
        for window, around, is_alone in _windows((self.loop,), (), True):
            ends = None if window in found else self._ends(window, around, is_alone)
            if ends is not None:
                found[window] = ends
        if not any(ends.low != ends.high for ends in found.values()):
            return None
        limits = (
            Limit(from_linear(window.index), extent)
            for window in found
            for extent in (None, window.extent)
        )
        known = Known(tuple(limits), chooses=False)
        fast = _versioned(_inside((self.loop,), known), self.sizes, self.positive)
        versions: Node = If(conjunction(_tests(found)), fast, (self.loop,))
        needed = dict.fromkeys(part for ends in found.values() for part in ends.needed)
        return If(conjunction(needed), (versions,)) if needed else versions

    def _ends(self, window: _Window, around: Sequence[For | If], is_alone: bool) -> _Ends | None:
        """Return the ends of a subscript in the loops `around`, None if they are not known."""
        terms = dict(window.index.terms)
        low: Expr = integer(window.index.constant)
        high = low
        for node in around:
            slope = terms.pop(Iter(node.iter), 0) if isinstance(node, For) else 0
            if not isinstance(node, For) or not slope:
                continue
            if abs(slope) > STEEPEST or not self._is_fixed(node.lower, node.upper):
                return None
            first, last = node.lower, sub(node.upper, integer(1))
            small, large = (first, last) if slope > 0 else (last, first)
            low, high = add(low, mul(integer(slope), small)), add(high, mul(integer(slope), large))
        rest = from_linear(Linear(0, tuple(terms.items())))
        if not self._is_fixed(rest, from_linear(window.extent)):
            return None
        needed: list[Expr] = []
        if any(load.index for load in loads(rest)):  # read it only where an iteration does
            for node in around:
                runs = _runs(node)
                needed += [] if _above_zero(runs) & self.positive else [runs]
            if not (is_alone and self._is_fixed(*needed) and self._is_on_sizes(*needed)):
                return None
        return _Ends(linear(add(rest, low)), linear(add(rest, high)), tuple(needed))

    def _is_on_sizes(self, *values: Expr) -> bool:
        return not reads(*values) and symbols(*values) <= self.sizes

    def _is_fixed(self, *values: Expr) -> bool:
        """Tell whether the loop changes nothing in the values."""
        return all(names_of(value).isdisjoint(self.changed) for value in values)


def _runs(node: For | If) -> Expr:
    """Return the condition that what is in a loop or a condition happens."""
    if isinstance(node, If):
        return node.condition
    return Compare(CompareOp.LT, node.lower, node.upper)


def _tests(found: Mapping[_Window, _Ends]) -> list[Expr]:
    """Return the conditions that all subscripts lie inside; those of one sum are tested once."""
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for window, ends in found.items():
        key = (ends.low.terms, ends.high.terms, window.extent)
        groups.setdefault(key, []).append((ends.low.constant, ends.high.constant))
    result: dict[Expr, None] = {}
    for window, ends in found.items():
        constants = groups[ends.low.terms, ends.high.terms, window.extent]
        low = from_linear(replace(ends.low, constant=min(least for least, _ in constants)))
        high = from_linear(replace(ends.high, constant=max(most for _, most in constants)))
        extent = from_linear(window.extent)
        result[Compare(CompareOp.GE, low, integer(0))] = None
        result[Compare(CompareOp.LT, low, extent)] = None  # it does not wrap around on the way
        result[Compare(CompareOp.LT, high, extent)] = None
    return list(result)


# -- subscripts -------------------------------------------------------------------------------


def _windows(
    body: Body, around: tuple[For | If, ...], is_alone: bool
) -> Iterator[tuple[_Window, tuple[For | If, ...], bool]]:
    """Yield the subscripts in `body` with the nodes around, and whether these have no others."""
    for node in body:
        alone = is_alone and len(body) == 1
        for expr in own_expressions(node):
            for window in filter(None, map(_window, walk(expr))):
                yield window, around, alone
        match node:
            case For():
                yield from _windows(node.body, (*around, node), alone)
            case If(otherwise=()):
                yield from _windows(node.then, (*around, node), alone)
            case If():
                yield from _windows((*node.then, *node.otherwise), around, False)
            case _:
                pass


def _window(part: Expr) -> _Window | None:
    """Return the subscript that an expression wraps, or keeps inside."""
    match part:
        case Select(
            condition=Compare(op=CompareOp.LT, left=index, right=Const(value=0)),
            then=wrapped,
            otherwise=same,
        ) if index == same and index.dtype is DType.INT64:
            extent = linear(sub(wrapped, index))
        case Binary(
            op=BinaryOp.MIN,
            left=Binary(op=BinaryOp.MAX, left=index, right=Const(value=0)),
            right=last,
        ) if part.dtype is DType.INT64:
            extent = linear(add(last, integer(1)))
        case _:
            return None
    found = linear(index)
    is_sum = not any(isinstance(atom, Select) for atom, _ in found.terms)
    is_data = any(not isinstance(atom, Iter | Param) for atom, _ in found.terms)
    return _Window(found, extent) if is_sum and is_data else None


def _inside(body: Body, known: Known) -> Body:
    """Return `body` where the subscripts of which something is known lie inside."""
    result: list[Node] = []
    for node in body:
        node = map_bodies(node, _inside, known)
        node = own_changed(node, lambda expr: simple(expr, known))
        if isinstance(node, If) and node.condition == TRUE:
            result += node.then
        else:
            result.append(node)
    return tuple(result)
