"""Exact values of integer expressions and conditions, for numbers given by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
            return int(_COMPARE_OPS[expr.op](left, right))
        case Select():
            chosen = expr.then if evaluate(expr.condition, env) else expr.otherwise
            return evaluate(chosen, env)
        case _:
            raise TypeError(f"not an integer expression: {show(expr)}")


_INTEGER_OPS: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.FLOORDIV: lambda a, b: a // b,
    BinaryOp.MOD: lambda a, b: a % b,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.AND: lambda a, b: a & b,
    BinaryOp.OR: lambda a, b: a | b,
    BinaryOp.XOR: lambda a, b: a ^ b,
}


_COMPARE_OPS: dict[CompareOp, Callable[[int, int], bool]] = {
    CompareOp.LT: lambda a, b: a < b,
    CompareOp.LE: lambda a, b: a <= b,
    CompareOp.GT: lambda a, b: a > b,
    CompareOp.GE: lambda a, b: a >= b,
    CompareOp.EQ: lambda a, b: a == b,
    CompareOp.NE: lambda a, b: a != b,
}
