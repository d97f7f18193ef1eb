"""Sums of products with integer factors: integer expressions in a form of which there is one.

In: integer expressions.  Out: `Linear`, and expressions made from it."""

from __future__ import annotations

from functools import lru_cache

from polyopt.dataclass import dataclass
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Param,
    Unary,
    UnaryOp,
    children,
    integer,
    with_children,
)
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum(coefficient * atom)` over INT64 atoms that are not sums themselves."""

    constant: int
    terms: tuple[tuple[Expr, int], ...]


@lru_cache(maxsize=1 << 13)
def linear(expr: Expr) -> Linear:
    """Return `expr` (INT64) as a sum of distinct atoms, in order of first appearance."""
    checkpoint()
    terms: dict[Expr, int] = {}
    constant = _collect(expr, 1, terms)
    return Linear(constant, tuple((atom, c) for atom, c in terms.items() if c != 0))


def _collect(expr: Expr, scale: int, terms: dict[Expr, int]) -> int:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return scale * expr.value
    if isinstance(expr, Iter | Param):
        terms[expr] = terms.get(expr, 0) + scale
        return 0
    match expr:
        case Binary(op=BinaryOp.ADD):
            return _collect(expr.left, scale, terms) + _collect(expr.right, scale, terms)
        case Binary(op=BinaryOp.SUB):
            return _collect(expr.left, scale, terms) + _collect(expr.right, -scale, terms)
        case Unary(op=UnaryOp.NEG):
            return _collect(expr.operand, -scale, terms)
        case Binary(op=BinaryOp.MUL, left=Const(value=int(value))):
            return _collect(expr.right, scale * value, terms)
        case Binary(op=BinaryOp.MUL, right=Const(value=int(value))):
            return _collect(expr.left, scale * value, terms)
        case _:
            checkpoint()
            parts = children(expr)
            atom = with_children(expr, tuple(map(_normal_operand, parts))) if parts else expr
            terms[atom] = terms.get(atom, 0) + scale
            return 0


def _normal_operand(expr: Expr) -> Expr:
    return normalize(expr) if expr.dtype is DType.INT64 else expr


STEEPEST = 1 << 12
"""A sum whose factor of an iterator is no larger cannot wrap around on the way between two values
inside of one array."""


def slope_of(expr: Expr, name: str) -> int:
    """Return the factor of iterator `name` in an INT64 sum; other terms may depend on it, too."""
    return next((c for atom, c in linear(expr).terms if atom == Iter(name)), 0)


_LEAST = -(2**63)


def from_linear(value: Linear) -> Expr:
    """Return the sum as an expression: positive terms, then negative ones, then the constant."""
    result: Expr | None = None
    for atom, c in sorted(value.terms, key=lambda term: term[1] < 0):
        if c == _LEAST:  # its size is no integer of 64 bits
            term: Expr = Binary(BinaryOp.MUL, integer(c), atom, DType.INT64)
            c = 1
        else:
            size = integer(abs(c))
            term = atom if abs(c) == 1 else Binary(BinaryOp.MUL, size, atom, DType.INT64)
        if result is None:
            result = term if c > 0 else Unary(UnaryOp.NEG, term, DType.INT64)
        else:
            op = BinaryOp.ADD if c > 0 else BinaryOp.SUB
            result = Binary(op, result, term, DType.INT64)
    if result is None:
        return integer(value.constant)
    if value.constant > 0 or value.constant == _LEAST:
        return Binary(BinaryOp.ADD, result, integer(value.constant), DType.INT64)
    if value.constant < 0:
        return Binary(BinaryOp.SUB, result, integer(-value.constant), DType.INT64)
    return result


@lru_cache(maxsize=1 << 13)
def normalize(expr: Expr) -> Expr:
    """Return an INT64 expression with sums collected: `2*t + i - (i - 1)` becomes `2*t + 1`."""
    if isinstance(expr, Iter | Param):
        return expr
    return from_linear(linear(expr))
