"""Exact values of integer expressions and conditions, for numbers given by name; comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

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
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.showing import show


def evaluate(expr: Expr, env: Mapping[str, int]) -> int:
    """Return the value of an INT64 expression over iterators and parameters, by Python's rules.

    Raises `TypeError` for a part that is not an integer expression (loads, calls).
    """
    match expr:
        case Const(value=int(value)):
            return value
        case Iter(name=name) | Param(name=name) | Symbol(name=name):
            return env[name]
        case Unary(op=UnaryOp.NEG):
            return -evaluate(expr.operand, env)
        case Unary(op=UnaryOp.ABS):
            return abs(evaluate(expr.operand, env))
        case Binary():
            left, right = evaluate(expr.left, env), evaluate(expr.right, env)
            return _INTEGER_OPS[expr.op](left, right)
        case Compare():
            left, right = evaluate(expr.left, env), evaluate(expr.right, env)
            return int(COMPARISONS[expr.op](left, right))
        case Select():
            chosen = expr.then if evaluate(expr.condition, env) else expr.otherwise
            return evaluate(chosen, env)
        case _:
            raise TypeError(f"not an integer expression: {show(expr)}")


_INTEGER_OPS: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.FLOORDIV: operator.floordiv,
    BinaryOp.MOD: operator.mod,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
}


COMPARISONS: dict[CompareOp, Callable[[Any, Any], Any]] = {
    CompareOp.LT: operator.lt,
    CompareOp.LE: operator.le,
    CompareOp.GT: operator.gt,
    CompareOp.GE: operator.ge,
    CompareOp.EQ: operator.eq,
    CompareOp.NE: operator.ne,
}
"""What compares two values."""

OPPOSITE = {
    CompareOp.LT: CompareOp.GE,
    CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.GE: CompareOp.LT,
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
}
"""The comparison of integers that holds where one does not."""

MIRRORED = {
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
}
"""The comparison with its sides exchanged."""


def opposite(condition: Compare) -> Compare:
    """Return a comparison turned around: its opposite if it `is_total`."""
    return Compare(OPPOSITE[condition.op], condition.left, condition.right)


def is_total(condition: Compare) -> bool:
    """Tell whether a comparison or its opposite holds, whatever the numbers: NaN is in no order."""
    dtype = condition.left.dtype
    is_equality = condition.op in (CompareOp.EQ, CompareOp.NE)
    return is_equality or not (dtype.is_float or dtype.is_complex)
