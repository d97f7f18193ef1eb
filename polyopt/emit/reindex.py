"""Shift skewed loops back to the source's coordinates.

In: a lowered body, in which skewed loops run over sums such as `2*t + j`.  Out: the same body with
such a loop shifted back by the outer iterators, so that subscripts read `B[i, j]` again.
"""

from __future__ import annotations

from collections import Counter

from polyopt.dataclass import replace
from polyopt.emit.regions import expressions
from polyopt.ir.expr import Binary, BinaryOp, Compare, Expr, Iter, Load, add, rewrite, sub, walk
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Body, For, Node
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, changed, map_bodies
from polyopt.ir.types import DType


def reindex(body: Body) -> Body:
    """Return `body` with every loop shifted by the outer iterators its subscripts subtract."""
    return tuple(_node(node) for node in body)


def _node(node: Node) -> Node:
    if isinstance(node, For):
        node = _shifted(node)
    return map_bodies(node, reindex)


def _shifted(loop: For) -> For:  # noqa: C901 - three rules of rewriting
    """Return the loop counting `iter - offset` for the offset most subscripts use."""
    offsets: Counter[tuple[tuple[Expr, int], ...]] = Counter()
    for node in all_nodes(loop.body):
        _count(node, loop.iter, offsets)
    inner = {node.iter for node in all_nodes(loop.body) if isinstance(node, For)}
    usable = {t: n for t, n in offsets.items() if not any(_name(atom) in inner for atom, _ in t)}
    if loop.step != 1 or not usable:
        return loop
    terms = min(usable.items(), key=lambda item: (-item[1], len(item[0])))[0]
    if not terms:
        return loop
    offset = from_linear(Linear(0, terms))
    new = sub(Iter(loop.iter), offset)

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Iter) and part.name == loop.iter:
            return new
        return None

    def collected(part: Expr) -> Expr | None:
        if part.dtype is DType.INT64 and not isinstance(part, Load):
            return normalize(part)
        return None

    def both(part: Expr) -> Expr | None:
        if has_iterator(part, (loop.iter,)):
            if isinstance(part, Compare) and part.left.dtype is DType.INT64:
                return cancelled(rewrite(part, rule))
            if isinstance(part, Load) or part.dtype is not DType.INT64:
                return None
            return rewrite(rewrite(part, rule), collected)
        return part

    body = tuple(changed(node, both) for node in loop.body)
    return replace(loop, lower=plus(loop.lower, offset), upper=plus(loop.upper, offset), body=body)


def _name(atom: Expr) -> str:
    return atom.name if isinstance(atom, Iter) else ""


def cancelled(comparison: Expr) -> Expr:
    """Return an INT64 comparison without the terms that stand on both sides."""
    assert isinstance(comparison, Compare)
    difference = linear(sub(comparison.left, comparison.right))
    left = Linear(0, tuple((atom, c) for atom, c in difference.terms if c > 0))
    right = Linear(-difference.constant, tuple((atom, -c) for atom, c in difference.terms if c < 0))
    return replace(comparison, left=from_linear(left), right=from_linear(right))


def plus(bound: Expr, offset: Expr) -> Expr:
    """Return `bound + offset`, moved inside minima and maxima."""
    if isinstance(bound, Binary) and bound.op in (BinaryOp.MIN, BinaryOp.MAX):
        return replace(bound, left=plus(bound.left, offset), right=plus(bound.right, offset))
    return normalize(add(bound, offset))


def _count(node: Node, iterator: str, offsets: Counter[tuple[tuple[Expr, int], ...]]) -> None:
    for expr in expressions(node):
        for part in walk(expr):
            if isinstance(part, Load):
                for index in part.index:
                    terms = linear(index).terms
                    if (Iter(iterator), 1) in terms:
                        rest = tuple(
                            (atom, c)
                            for atom, c in sorted(terms, key=lambda t: str(t[0]))
                            if isinstance(atom, Iter) and atom.name != iterator
                        )
                        offsets[rest] += 1
