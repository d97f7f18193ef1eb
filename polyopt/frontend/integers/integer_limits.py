"""Checks of the call that Python's integers fit 64 bits: those that its arguments decide.

In: the limits that a reading noted.  Out: `Check` records over the final names, none for what
sizes up to `LARGEST_SIZE` prove.  Conditions are computed in 128 bits.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.frontend.integers.affine_integers import TRUE, both
from polyopt.frontend.integers.ranges import INDEX, LEAST, WORD, range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Limit
from polyopt.frontend.program.renaming import Renaming
from polyopt.frontend.program.statement_domains import Loop, Scope
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.names import params_of
from polyopt.ir.source import Check
from polyopt.ir.types import DType

CODE = "PO0210"


def limits_of(b: Builder, rename: Renaming, sized: frozenset[str]) -> tuple[Check, ...]:
    """Return what a call must check; `sized`: integer arguments that are sizes or bounds."""
    b.facts.sized |= sized
    result: dict[Expr, Check] = {}
    for limit in b.limits:
        condition = _condition(b, limit, {*rename.params, *rename.symbols})
        if condition is None:
            continue
        condition = rename.expr(condition)
        message = f"`{limit.words}` does not fit 64 bits"
        if limit.most != WORD.high:
            message = f"{limit.words} may exceed {limit.most}"
        hint = "pass smaller integers or arrays"
        result.setdefault(condition, Check(condition, CODE, message, limit.loc, hint))
    return tuple(result.values())


def _condition(b: Builder, limit: Limit, known: Collection[str]) -> Expr | None:
    """Return what must hold, None where it always does, or nothing that is left needs it."""
    scope, b.scope = b.scope, Scope(limit.loops)
    try:
        found = range_of(limit.value, b.span_of)
    finally:
        b.scope = scope
    if found != WORD and found.high <= limit.most:
        return None
    condition = fitting(b.facts.expanded(limit.value), limit.loops, limit.most)
    condition = b.facts.expanded(condition)
    return condition if params_of((condition,)) <= set(known) and condition != TRUE else None


def bounds_at_call(expr: Expr, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    """Return the least and the largest value over `loops`, and the partial results in between.

    All are arithmetic on parameters; where the partial results fit 64 bits, 128 hold the others.
    """
    match expr:
        case Iter(name=name):
            return _iterator(name, loops)
        case Unary(op=UnaryOp.NEG):
            low, high, steps = bounds_at_call(expr.operand, loops)
            return _negated(high), _negated(low), steps
        case Unary(op=UnaryOp.ABS):
            low, high, steps = bounds_at_call(expr.operand, loops)
            if low == high:
                return expr, expr, steps
            return integer(0), _op(BinaryOp.MAX, _negated(low), high), steps
        case Binary():
            return _operation(expr, loops)
        case _:
            return expr, expr, ()


def _negated(expr: Expr) -> Expr:
    return Unary(UnaryOp.NEG, expr, DType.INT64)


def _iterator(name: str, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    place = next((n for n, loop in enumerate(loops) if loop.iter == name), None)
    if place is None:  # of an array that is made: within its extent
        return integer(INDEX.low), integer(INDEX.high), ()
    loop = loops[place]
    first = bounds_at_call(loop.lower, loops[:place])
    end = bounds_at_call(loop.upper, loops[:place])
    steps = (*first[2], *end[2])
    if loop.step > 0:
        last = _op(BinaryOp.SUB, end[1], integer(1))
        return first[0], _op(BinaryOp.MAX, first[0], last), steps
    last = _op(BinaryOp.ADD, end[0], integer(1))
    return _op(BinaryOp.MIN, first[1], last), first[1], steps


def _op(op: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, DType.INT64)


def _operation(expr: Binary, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    left, right = bounds_at_call(expr.left, loops), bounds_at_call(expr.right, loops)
    inner = (*left[2], *right[2])
    op = expr.op
    low: Expr
    high: Expr
    if left[0] == left[1] and right[0] == right[1]:
        whole = _op(op, left[0], right[0])
        return whole, whole, (*inner, whole)
    match op:
        case BinaryOp.ADD | BinaryOp.MIN | BinaryOp.MAX:
            low, high = _op(op, left[0], right[0]), _op(op, left[1], right[1])
        case BinaryOp.SUB:
            low, high = _op(op, left[0], right[1]), _op(op, left[1], right[0])
        case BinaryOp.MOD:
            sizes = _op(BinaryOp.MAX, _negated(right[0]), right[1])
            low, high = _negated(sizes), sizes
        case BinaryOp.FLOORDIV:
            sizes = _op(BinaryOp.MAX, _negated(left[0]), left[1])
            low, high = _negated(sizes), sizes
        case _:
            corners: list[Expr] = [_op(op, a, c) for a in left[:2] for c in right[:2]]
            corners = list(dict.fromkeys(corners))
            low, high = corners[0], corners[0]
            for corner in corners[1:]:
                low, high = _op(BinaryOp.MIN, low, corner), _op(BinaryOp.MAX, high, corner)
    return low, high, (*inner, low, high)


def fitting(expr: Expr, loops: tuple[Loop, ...], most: int) -> Expr:
    """Return the condition, on parameters, that `expr` fits 64 bits in all iterations of `loops`.

    `most`: and is not larger.
    """
    low, high, steps = bounds_at_call(expr, loops)
    total: Expr = TRUE
    for value in dict.fromkeys((*steps, low, high)):
        if isinstance(value, Const | Param):
            continue
        total = both(total, Compare(CompareOp.GE, value, integer(LEAST)))
        largest = most if value is high else WORD.high
        total = both(total, Compare(CompareOp.LE, value, integer(largest)))
    return total
