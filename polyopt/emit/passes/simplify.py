"""Simplify known bounds and conditions, nested ones, and loops that run once or never.

In: a `LoopFunction`.  Out: the same instances in the same order with less text.
Leaves: what depends on sizes beyond their signs.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import Names, local_names, renamed, substituted, trip_count
from polyopt.emit.ranges import Ranges
from polyopt.emit.regions import is_settled, leaves_itself
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    integer,
    loads,
    operands,
    rewrite,
    sub,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    For,
    If,
    LoopFunction,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import changed, map_bodies
from polyopt.ir.source import SizeOf
from polyopt.ir.types import DType


def simplify(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with known bounds and conditions folded."""
    sizes = {s.param: 0 for s in fn.signature.sizes if isinstance(s, SizeOf)}
    return replace(fn, body=_body(fn.body, Ranges(params=sizes), Names(fn)))


def _body(body: Body, ranges: Ranges, names: Names) -> Body:
    found: list[Node] = []
    for node in body:
        for new in _node(node, ranges, names):
            found.append(new)
    return tuple(found)


def _node(node: Node, ranges: Ranges, names: Names) -> Body:
    match node:
        case For():
            return _loop(node, ranges, names)
        case If():
            return _branch(node, ranges, names)
        case While():
            condition = folded(node.condition, ranges)
            if isinstance(condition, Const) and not condition.value:
                return ()
            return (While(condition, _body(node.body, ranges, names)),)
        case Assign() | Declare() | SetLocal():
            return (changed(node, lambda part: _subscripted(part, ranges)),)
        case _:
            return (map_bodies(node, _body, ranges, names),)


def _subscripted(part: Expr, ranges: Ranges) -> Expr | None:
    """Return an element with remainders in its subscripts as differences, where that is certain."""
    if not isinstance(part, Load | VectorLoad) or not any(map(_has_remainder, part.index)):
        return None

    def rule(inner: Expr) -> Expr | None:
        match inner:
            case Binary(op=BinaryOp.MOD, left=whole, right=Const(value=int(by))) if by > 0:
                return ranges.remainder(whole, by)
            case Load() | VectorLoad():
                return _subscripted(inner, ranges)
            case _:
                return None

    return replace(part, index=tuple(rewrite(index, rule) for index in part.index))


def _has_remainder(index: Expr) -> bool:
    return any(isinstance(part, Binary) and part.op is BinaryOp.MOD for part in walk(index))


def _loop(loop: For, ranges: Ranges, names: Names) -> Body:
    loop = replace(loop, lower=folded(loop.lower, ranges), upper=folded(loop.upper, ranges))
    count = trip_count(loop)
    if count == 0:
        return ()
    if count == 1 and not loop.reductions and _is_transparent(loop):
        body = substituted(loop.body, {loop.iter: loop.lower})
        fresh = {name: names.fresh(name) for name in local_names(body)}
        return _body(renamed(body, fresh), ranges, names)
    body = _body(loop.body, ranges.inside(loop), names)
    return (replace(loop, body=body),) if body else ()


def _is_transparent(loop: For) -> bool:
    """Tell whether a loop's body means the same without the loop around, at its first value."""
    return is_settled(loop.lower, loop.body) and not leaves_itself(loop.body)


def _branch(node: If, ranges: Ranges, names: Names) -> Body:
    condition = folded(node.condition, ranges)
    if isinstance(condition, Const):
        chosen = node.then if condition.value else node.otherwise
        fresh = {name: names.fresh(name) for name in local_names(chosen)}
        return _body(renamed(chosen, fresh), ranges, names)
    then = _body(node.then, ranges.where(condition), names)
    otherwise = _body(node.otherwise, ranges, names)
    if not then and not otherwise:
        return ()
    match then:
        case (If(otherwise=()) as inner,) if not (otherwise or _has_loads(condition, inner)):
            both = Binary(BinaryOp.AND, condition, inner.condition, DType.BOOL)
            return (If(both, inner.then),)
    return (If(condition, then, otherwise),)


def _has_loads(condition: Expr, inner: If) -> bool:
    """Tell whether a condition is one on data, which may be read only where another holds."""
    return bool(loads(condition) or loads(inner.condition))


def folded(expr: Expr, ranges: Ranges) -> Expr:
    """Return a bound or condition with provable minima, maxima and comparisons decided."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX) if part.dtype is DType.INT64:
                return _pruned(part, ranges)
            case Compare() if part.left.dtype is DType.INT64:
                return _decided(part, ranges)
            case Binary(op=BinaryOp.ADD) if part.dtype is DType.INT64:
                return _truncating(part, ranges)
            case Binary(op=BinaryOp.AND | BinaryOp.OR) if part.dtype is DType.BOOL:
                return _joined(part, ranges)
            case Unary(op=UnaryOp.INVERT) if part.dtype is DType.BOOL:
                inner = folded(part.operand, ranges)
                if isinstance(inner, Const):
                    return Const(not inner.value, DType.BOOL)
                return replace(part, operand=inner)
            case _:
                return None

    return rewrite(expr, rule)


def _truncating(expr: Binary, ranges: Ranges) -> Expr | None:
    """Return a quotient and a constant as one quotient where its dividend is not negative then.

    C's division is the floor there.
    """
    match expr:
        case Binary(
            left=Binary(op=BinaryOp.FLOORDIV, left=dividend, right=Const(value=int(by)) as divisor),
            right=Const(value=int(more)),
        ) if by > 0 and not ranges.is_nonnegative(dividend):
            raised = normalize(add(folded(dividend, ranges), integer(more * by)))
            if ranges.is_nonnegative(raised):
                return Binary(BinaryOp.FLOORDIV, raised, divisor, DType.INT64)
    return None


def _pruned(expr: Binary, ranges: Ranges) -> Expr:
    """Drop the arms of a minimum or maximum that another arm always beats."""
    sign = 1 if expr.op is BinaryOp.MIN else -1
    kept: list[Expr] = []
    for arm in (folded(a, ranges) for a in operands(expr, expr.op)):
        if any(_is_nonnegative(sub(arm, other), sign, ranges) for other in kept):
            continue
        kept = [o for o in kept if not _is_nonnegative(sub(o, arm), sign, ranges)]
        kept.append(arm)
    result = kept[0]
    for arm in kept[1:]:
        result = Binary(expr.op, result, arm, DType.INT64)
    return result


def _is_nonnegative(difference: Expr, sign: int, ranges: Ranges) -> bool:
    if sign > 0:
        return ranges.is_nonnegative(difference)
    most = ranges.most(difference)
    return most is not None and most <= 0


_HOLDS: Mapping[CompareOp, tuple[int | None, int | None]] = {
    # left - right >= first, or <= second, decides that the comparison holds
    CompareOp.LT: (None, -1),
    CompareOp.LE: (None, 0),
    CompareOp.GT: (1, None),
    CompareOp.GE: (0, None),
}
_FAILS: Mapping[CompareOp, tuple[int | None, int | None]] = {
    CompareOp.LT: (0, None),
    CompareOp.LE: (1, None),
    CompareOp.GT: (None, 0),
    CompareOp.GE: (None, -1),
}


def _decided(expr: Compare, ranges: Ranges) -> Expr:
    left, right = folded(expr.left, ranges), folded(expr.right, ranges)
    difference = sub(left, right)
    value = linear(difference)
    if any(_is_product(part) for term, _ in value.terms for part in walk(term)):
        return replace(expr, left=left, right=right)  # the certificate could not tell
    low, high = ranges.least(difference), ranges.most(difference)
    if not value.terms:
        low = high = value.constant
    if expr.op in _HOLDS:
        if _reaches(low, high, _HOLDS[expr.op]):
            return Const(True, DType.BOOL)
        if _reaches(low, high, _FAILS[expr.op]):
            return Const(False, DType.BOOL)
        smaller, larger = (right, left) if expr.op is CompareOp.GT else (left, right)
        if expr.op in (CompareOp.LT, CompareOp.GT) and ranges.is_less(smaller, larger):
            return Const(True, DType.BOOL)
    elif not value.terms:
        return Const((value.constant == 0) == (expr.op is CompareOp.EQ), DType.BOOL)
    return replace(expr, left=left, right=right)


def _is_product(expr: Expr) -> bool:
    if not isinstance(expr, Binary) or expr.op is not BinaryOp.MUL:
        return False
    return not any(isinstance(part, Const) for part in (expr.left, expr.right))


def _reaches(low: int | None, high: int | None, limit: tuple[int | None, int | None]) -> bool:
    above, below = limit
    if above is not None and low is not None and low >= above:
        return True
    return below is not None and high is not None and high <= below


def _joined(expr: Binary, ranges: Ranges) -> Expr:
    left, right = folded(expr.left, ranges), folded(expr.right, ranges)
    ends = expr.op is BinaryOp.OR  # the value that decides the whole
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Const):
            return Const(ends, DType.BOOL) if bool(side.value) is ends else other
    return replace(expr, left=left, right=right)
