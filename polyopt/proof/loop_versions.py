"""Undo loop versioning: a specialized version for whole tiles beside a general one.

In: a loop AST.  Out: the same with the general version alone, where the specialized one only
omits conditions and minima that the condition of its branch implies.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.expr import Expr
from polyopt.ir.loops import Body, Comment, For, If, LoopKind, Node
from polyopt.ir.nodes import bodies, with_bodies
from polyopt.proof.affine import NotAffine
from polyopt.proof.paths import Path

_IN_TURN = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)


def without_versions(body: Body, path: Path) -> Body:
    """Return `body`, reached by `path`, with such branches undone."""
    found: list[Node] = []
    for node in body:
        inner = tuple(
            without_versions(part, path.into(node, n)) for n, part in enumerate(bodies(node))
        )
        node = with_bodies(node, inner)
        match node:
            case If(then=then, otherwise=other) if other and _same(then, other, path.into(node, 0)):
                found += other
            case _:
                found.append(node)
    return tuple(found)


def _same(one: Body, two: Body, path: Path) -> bool:
    """Tell whether two bodies run the same at all iterations of `path`."""
    first = [node for node in one if not isinstance(node, Comment)]
    second = [node for node in two if not isinstance(node, Comment)]
    match second:
        case [If(condition=condition, then=then)] if holds(condition, path):
            return _same(one, then, path)
        case _:
            pass
    pairs = zip(first, second, strict=False)
    return len(first) == len(second) and all(_same_node(a, b, path) for a, b in pairs)


def _same_node(one: Node, two: Node, path: Path) -> bool:
    match one, two:
        case For(), For():
            same = one.iter == two.iter and one.step == two.step
            in_turn = one.kind in _IN_TURN and two.kind in _IN_TURN
            return (
                same
                and in_turn
                and not (one.reductions or two.reductions)
                and _equal(one.lower, two.lower, path)
                and _equal(one.upper, two.upper, path)
                and _same(one.body, two.body, path.into(one, 0))
            )
        case If(), If():
            return (
                one.condition == two.condition
                and _same(one.then, two.then, path.into(one, 0))
                and _same(one.otherwise, two.otherwise, path.into(one, 1))
            )
        case _:
            return one == two


def holds(condition: Expr, path: Path) -> bool:
    """Tell whether a condition is true at all iterations of `path`."""
    try:
        return bool(path.domain.is_subset(path.frame.condition(condition)))
    except NotAffine:
        return False


def _equal(one: Expr, two: Expr, path: Path) -> bool:
    """Tell whether two numbers are equal at all iterations of `path`."""
    if one == two:
        return True
    try:
        same: isl.Set = path.frame.pw(one).eq_set(path.frame.pw(two))
    except NotAffine:
        return False
    return bool(path.domain.is_subset(same))
