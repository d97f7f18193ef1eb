"""Separate full tiles of a thread from partial ones and unroll them.

In: a nest of THREAD loops.  Out: the same, its inner loops of a small constant extent counted from
0; without conditions where all of a thread's iterations exist.
"""

from __future__ import annotations

from collections.abc import Set

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.bound_tests import undivided
from polyopt.emit.gpu.nests import bounds_use, spans
from polyopt.emit.regions import expressions
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    add,
    conjunction,
    integer,
    loads,
    mul,
    operands,
    rewrite,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Body, For, If, LoopKind, Node
from polyopt.ir.names import has_iterator, iterators
from polyopt.ir.nodes import all_nodes, bodies, changed_body, map_bodies
from polyopt.ir.types import DType

MOST = 8
"""Iterations of a loop that is unrolled."""
MOST_TERMS = 32
"""Iterations of a loop that gets constant bounds."""


@dataclass(frozen=True, slots=True)
class _TileLoop:
    """A loop that runs `extent` iterations from `start`, where all of `conditions` hold.

    Without conditions (None) it is not known when it does.
    """

    start: Expr
    extent: int
    conditions: tuple[Expr, ...] | None


def full_tiles(body: Body, array: str) -> Body:
    """Return what a thread runs for `body`; in partial tiles loops over `array` count from 0."""
    found: dict[str, _TileLoop] = {}
    _collect(body, frozenset(), found)
    if not found:
        return body
    own = _subscripts(body, array) & set(found)
    every_one = [c for span in found.values() for c in span.conditions or ()]
    conditions = _needed(every_one)
    if any(span.conditions is None for span in found.values()):
        return _spanned(body, {}, own)
    whole = _spanned(body, found, own)
    if not conditions:
        return whole
    return (If(conjunction(conditions), whole, _spanned(body, {}, own)),)


def _subscripts(body: Body, array: str) -> set[str]:
    """Return the iterators that the subscripts of `array` are over."""
    loops = [node for node in all_nodes(body) if isinstance(node, For)]
    loads = (p for n in all_nodes(body) for e in expressions(n) for p in walk(e))
    used = [e for p in loads if isinstance(p, Load) and p.array == array for e in p.index]
    names: set[str] = set()
    while used:
        fresh = iterators(*used) - names
        names |= fresh
        used = [e for loop in loops if loop.iter in fresh for e in (loop.lower, loop.upper)]
    return names


def _needed(conditions: list[Expr]) -> list[Expr]:
    """Return conditions without those that others say: of sums that differ by a number."""
    least: dict[frozenset[tuple[Expr, int]], tuple[int, Expr]] = {}
    for condition in conditions:
        assert isinstance(condition, Compare)
        gap = _without_floor(condition.left, condition.right)
        key = frozenset(gap.terms)
        if key not in least or gap.constant < least[key][0]:
            least[key] = (gap.constant, condition)
    return [condition for _, condition in least.values()]


def _without_floor(left: Expr, right: Expr) -> Linear:
    """Return a sum that is at least 0 just where `left <= right`."""
    gap = linear(sub(right, left))
    for atom, factor in gap.terms:
        match atom:
            case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(by))) if factor == 1 < by:
                rest = Linear(gap.constant, tuple(term for term in gap.terms if term[0] != atom))
                return linear(add(atom.left, mul(integer(by), from_linear(rest))))
            case _:
                pass
    return gap


def _collect(body: Body, inside: frozenset[str], found: dict[str, _TileLoop]) -> None:
    """Find the loops whose length no other loop of the thread decides, of a whole tile."""
    for node in body:
        inner = inside
        if isinstance(node, For):
            inner = inside | {node.iter}
            span = _span(node)
            if span is not None and node.iter not in found:
                found[node.iter] = (
                    _for_all(span, inside, found) if bounds_use(node, inside) else span
                )
        for part in bodies(node):
            _collect(part, inner, found)


def _for_all(span: _TileLoop, inside: frozenset[str], found: dict[str, _TileLoop]) -> _TileLoop:
    """Return a span with conditions for all iterations of the loops around it."""
    conditions = [_in_all(condition, inside, found) for condition in span.conditions or ()]
    known = tuple(condition for condition in conditions if condition is not None)
    return replace(span, conditions=known if len(known) == len(conditions) else None)


def _in_all(condition: Expr, inside: frozenset[str], found: dict[str, _TileLoop]) -> Expr | None:
    """Return when `left <= right` holds in all iterations of the loops `inside`; None: unknown."""
    assert isinstance(condition, Compare)
    gap = _without_floor(condition.left, condition.right)
    for _ in range(len(inside) + 1):
        used = iterators(*(atom for atom, _ in gap.terms))
        if not used & inside:
            return _at_least_0(gap)
        ends = {}
        for atom, factor in gap.terms:
            if isinstance(atom, Iter) and atom.name in found:
                span = found[atom.name]
                last = integer(span.extent - 1 if factor < 0 else 0)
                ends[atom.name] = normalize(add(span.start, last))
        gap = linear(substitute(from_linear(gap), ends))
    return None


def _at_least_0(gap: Linear) -> Compare:
    """Return the comparison that a sum is at least 0, its terms on the side where they add."""
    left = Linear(max(0, -gap.constant), tuple((a, -n) for a, n in gap.terms if n < 0))
    right = Linear(max(0, gap.constant), tuple((a, n) for a, n in gap.terms if n > 0))
    return Compare(CompareOp.LE, from_linear(left), from_linear(right))


def _span(loop: For) -> _TileLoop | None:
    if loop.step != 1 or loads(loop.lower) or loads(loop.upper):
        return None
    choices = [(length, start) for start, length in spans(loop) if 0 < length <= MOST_TERMS]
    if not choices:
        return None
    extent, start = min(choices, key=lambda choice: choice[0])
    end = normalize(add(start, integer(extent)))
    lowers = [e for e in operands(loop.lower, BinaryOp.MAX) if normalize(e) != normalize(start)]
    uppers = [e for e in operands(loop.upper, BinaryOp.MIN) if normalize(e) != end]
    conditions: list[Expr] = [Compare(CompareOp.LE, lower, start) for lower in lowers]
    conditions += [undivided(Compare(CompareOp.LE, end, upper)) for upper in uppers]
    return _TileLoop(start, extent, tuple(conditions))


def _spanned(body: Body, full: dict[str, _TileLoop], own: Set[str]) -> Body:
    """Return `body` with the loops `full` counted from 0, and with conditions others of `own`.

    Branches may have loops of one name that start elsewhere: those are not full.
    """
    return tuple(_node(node, full, own) for node in body)


def _node(node: Node, full: dict[str, _TileLoop], own: Set[str]) -> Node:
    node = map_bodies(node, _spanned, full, own)
    if not isinstance(node, For) or node.iter not in full.keys() | own:
        return node
    span = _span(node)
    if span is None:
        return node
    known = full.get(node.iter)
    is_full = known is not None and (span.start, span.extent) == (known.start, known.extent)
    if not is_full and (node.iter not in own or span.extent > MOST):
        return node
    value = normalize(add(span.start, Iter(node.iter)))

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Iter) and part.name == node.iter:
            return value
        return _tidy(part, node.iter, value)

    body = changed_body(node.body, rule)
    if not is_full:
        for guard in reversed(_guards(node, span)):
            body = (If(rewrite(guard, rule), body),)
    kind = LoopKind.UNROLL if span.extent <= MOST else node.kind
    return replace(node, lower=integer(0), upper=integer(span.extent), kind=kind, body=body)


def _tidy(part: Expr, name: str, value: Expr) -> Expr | None:
    """Return a sum over the iterator `name` with `value` in its place, its terms collected."""
    if not isinstance(part, Binary) or part.dtype is not DType.INT64:
        return None
    if part.op not in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL):
        return None
    if not has_iterator(part, (name,)) or loads(part):
        return None
    changed = rewrite(part, lambda p: value if isinstance(p, Iter) and p.name == name else None)
    return normalize(changed)


def _guards(loop: For, span: _TileLoop) -> list[Expr]:
    """Return when an iteration of the whole tile is one of the loop's."""
    place = Iter(loop.iter)
    end = normalize(add(span.start, integer(span.extent)))
    lowers = operands(loop.lower, BinaryOp.MAX)
    uppers = operands(loop.upper, BinaryOp.MIN)
    found: list[Expr] = [
        Compare(CompareOp.GE, place, e) for e in lowers if normalize(e) != normalize(span.start)
    ]
    found += [undivided(Compare(CompareOp.LT, place, e)) for e in uppers if normalize(e) != end]
    return found
