"""Collect what loop ASTs read, write and set.

In: nodes of `polyopt.ir.loops`.  Out: expressions, names of arrays and locals.
Whether two accesses may alias, whether a value is unchanged, and what a node leaves known.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Expr,
    Load,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
    conjunction,
    walk,
)
from polyopt.ir.linear import Linear, linear
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Node,
    SetLocal,
)
from polyopt.ir.names import reads, symbols
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.ir.types import DType
from polyopt.proof.affine import NotAffine
from polyopt.proof.paths import Path, with_paths


def expressions(body: Body) -> Iterator[Expr]:
    """Yield the expressions of the nodes, at all depths."""
    for node in all_nodes(body):
        yield from own_expressions(node)


def own_accesses(node: Node) -> tuple[Load | VectorLoad, ...]:
    """Return the accesses of a node itself, the target of an assignment last."""
    parts = (part for expr in own_expressions(node) for part in walk(expr))
    found = tuple(part for part in parts if isinstance(part, Load | VectorLoad))
    return (*found, node.target) if isinstance(node, Assign) else found


def chosen_accesses(node: Node) -> Iterator[tuple[Load | VectorLoad, tuple[Expr, ...]]]:
    """Yield the accesses of a node itself, each with the conditions of choices around it."""
    for expr in own_expressions(node):
        yield from _chosen(expr, ())
    if isinstance(node, Assign):
        yield node.target, ()


def _chosen(
    expr: Expr, under: tuple[Expr, ...]
) -> Iterator[tuple[Load | VectorLoad, tuple[Expr, ...]]]:
    if isinstance(expr, Load | VectorLoad):
        yield expr, under
    if isinstance(expr, Select):
        yield from _chosen(expr.condition, under)
        yield from _chosen(expr.then, (*under, expr.condition))
        negated = Unary(UnaryOp.INVERT, expr.condition, DType.BOOL)
        yield from _chosen(expr.otherwise, (*under, negated))
        return
    for part in children(expr):
        yield from _chosen(part, under)


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


def is_stable(value: Expr, span: Body, path: Path) -> bool:
    """Tell whether nothing in `span` changes the operands of `value`."""
    if symbols(value) & set_locals(span):
        return False
    for cell in (p for p in walk(value) if isinstance(p, Load | VectorLoad)):
        if cell.array not in written(span):
            continue
        own = Access.of(cell)
        for node, inner in with_paths(span, path):
            if cell.array not in own_written(node):
                continue
            if not isinstance(node, Assign):
                return False
            if not own.is_apart(Access.of(node.target), inner):
                return False
    return True


@dataclass(frozen=True, eq=False)
class Access:
    """An access, its subscripts as sums: (terms, constant) each."""

    place: Load | VectorLoad
    index: tuple[Linear, ...]

    @staticmethod
    def of(place: Load | VectorLoad) -> Access:
        """Return the access of `place`."""
        return Access(place, tuple(map(linear, place.index)))

    def width(self, position: int) -> int:
        """Return the number of subscripts that it covers in dimension `position`."""
        is_last = position == len(self.index) - 1
        return self.place.span if is_last and isinstance(self.place, VectorLoad) else 1

    def is_apart(self, other: Access, there: Path) -> bool:
        """Tell whether this element is not one of `other`'s, at any iteration of `there`.

        The iterators in this one's subscripts have the same values for both.
        """
        for position, (one, two) in enumerate(zip(self.index, other.index, strict=True)):
            if one.terms != two.terms and dict(one.terms) != dict(two.terms):
                continue
            distance = two.constant - one.constant
            if distance >= self.width(position) or -distance >= other.width(position):
                return True
        if self.index == other.index:
            return False
        return self._never_meet(other, there)

    def _never_meet(self, other: Access, there: Path) -> bool:
        frame, meeting = there.frame, there.domain
        subscripts = zip(self.place.index, other.place.index, strict=True)
        for position, (one, two) in enumerate(subscripts):
            try:
                distance = frame.pw(two).sub(frame.pw(one))
            except NotAffine:
                continue
            below = isl.PwAff.from_aff(frame.constant(self.width(position)))
            above = isl.PwAff.from_aff(frame.constant(-other.width(position)))
            meeting = meeting.intersect(distance.lt_set(below)).intersect(distance.gt_set(above))
        return bool(meeting.is_empty())


def told_after(node: Node, rest: Body) -> tuple[Expr, ...]:
    """Return what holds just behind a node that names a value, or conditionally ends."""
    match node:
        case Declare(dtype=DType.INT64, lanes=1) if is_changed(node.value, rest):
            return (Compare(CompareOp.EQ, Symbol(node.name, node.dtype), node.value),)
        case If():
            return tuple(Unary(UnaryOp.INVERT, end, DType.BOOL) for end in _ends(node))
        case _:
            return ()


def _ends(node: Node) -> tuple[Expr, ...]:
    """Return conditions under which a choice, and choices in it alone, end the execution."""
    match node:
        case If(then=then, otherwise=()) if then and isinstance(then[-1], Fail | Break):
            return (node.condition,)
        case If(then=then, otherwise=()):
            named = {inner.name for inner in then if isinstance(inner, Declare)}
            ends = [_ends(inner) for inner in then if not isinstance(inner, Declare)]
            if not all(ends):
                return ()
            lasting = (end for own in ends for end in own if named.isdisjoint(symbols(end)))
            return tuple(conjunction((node.condition, end)) for end in lasting)
        case _:
            return ()


def is_changed(value: Expr, body: Body) -> bool:
    return bool(reads(value) & written(body) or symbols(value) & set_locals(body))


def end_of(body: Body, start: int, condition: Expr) -> int:
    """Return twice the number of the first node in which a condition may no longer hold.

    One more if it holds until the node ends: what computes a value reads before it changes one.
    """
    for number, node in enumerate(body[start:], start):
        if is_changed(condition, (node,)):
            return 2 * number + isinstance(node, Assign | Declare | SetLocal)
    return 2 * len(body)
