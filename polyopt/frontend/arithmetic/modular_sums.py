"""Sums and products of which only the lowest bits count: `(a * b + c) % 2**k`, `x & mask`.

In: the tree of an operator.  Out: the operators inside that may wrap modulo 2**64, and the mask.
Hashes and random numbers are computed this way; 64 bits hold the lowest 63 of any intermediate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polyopt.frontend.integers.ranges import MOST, WORD, Span, of_binary, of_unary, range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.values import Known, Number, Value
from polyopt.ir.expr import BinaryOp, UnaryOp
from polyopt.ir.types import DType

_RING: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD, ast.Sub: BinaryOp.SUB, ast.Mult: BinaryOp.MUL,
    ast.BitAnd: BinaryOp.AND, ast.BitOr: BinaryOp.OR, ast.BitXor: BinaryOp.XOR,
}  # fmt: skip


def mask_of(op: ast.operator, right: Value) -> int | None:
    """Return the bits that `op` keeps of its left operand, None where it keeps others."""
    if not isinstance(right, Known) or type(right.value) is not int:
        return None
    value = right.value
    match op:
        case ast.BitAnd() if 0 <= value <= MOST:
            return value
        case ast.Mod() if 0 < value <= MOST + 1 and value & (value - 1) == 0:
            return value - 1
        case _:
            return None


def ring_parts(node: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the operators that `node` is sums, products and bits of, and their operands."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _RING:
            inner = [ring_parts(left), ring_parts(right)]
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            inner = [ring_parts(operand)]
        case _:
            return [], [node]
    operators = [node, *(found for part in inner for found in part[0])]
    return operators, [found for part in inner for found in part[1]]


def wrapped(value: Value) -> Value:
    """Return a constant as the number of 64 bits with a sign that has its lowest bits."""
    if isinstance(value, Known) and type(value.value) is int:
        return Known((value.value + 2**63) % 2**64 - 2**63)
    return value


def is_constant(node: ast.expr) -> bool:
    """Whether a tree is arithmetic on literals and names, without calls."""
    kinds = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(part, kinds) for part in ast.walk(node))


def is_python_integer(value: Value) -> bool:
    """Whether a value is one of Python's integers."""
    match value:
        case Number():
            return value.weak and value.dtype is DType.INT64
        case Known(value=known):
            return type(known) is int
        case _:
            return False


def fits(b: Builder, node: ast.expr, values: Iterator[Value]) -> bool:
    """Whether every operator of `ring_parts` fits 64 bits, for operands in that order."""
    return _span(b, node, values) is not None


def _span(b: Builder, node: ast.expr, values: Iterator[Value]) -> Span | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _RING:
            one, two = _span(b, left, values), _span(b, right, values)
            found = None if one is None or two is None else of_binary(_RING[type(op)], one, two)
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            part = _span(b, operand, values)
            kind = UnaryOp.NEG if isinstance(op, ast.USub) else UnaryOp.INVERT
            found = None if part is None else of_unary(kind, part)
        case _:
            found = _operand_span(b, next(values))
    return found if found is not None and found.within(WORD) else None


def _operand_span(b: Builder, value: Value) -> Span | None:
    match value:
        case Number(expr=expr):
            return range_of(expr, b.span_of)
        case Known(value=int(known)):
            return Span(known, known)
        case _:
            return None
