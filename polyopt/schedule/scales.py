"""Multiply scale factors into the operand of a contraction that is packed.

In: a Program with reassociable sums.  Out: `C[i, j] += A[i, k] * (s * B[k, j])` for
`s * A[i, k] * B[k, j]` with one or several numbers `s`: packing B multiplies them in, so that none
is left in the inner loop.
Leaves alone: sums in a fixed order, products of more than two elements or of other terms, and
loops that form a box: there the scaled operand of the rows is computed once for all panels.
"""

from __future__ import annotations

from functools import reduce

from polyopt.dataclass import replace
from polyopt.ir.affine import is_box
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    operands,
)
from polyopt.ir.names import iterators
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.schedule.reductions import changed_statements

_SUM = (BinaryOp.ADD, BinaryOp.SUB)


def with_scaled_rows(program: Program) -> Program:
    """Return `program` with the scales of contractions on the operand contiguous in the result."""
    return replace(program, parts=changed_statements(program.parts, _statement))


def _statement(statement: Statement) -> Statement:
    value = statement.value
    if not (
        isinstance(value, Binary)
        and value.op in _SUM
        and value.dtype.is_float
        and value.left == statement.target
        and statement.is_reassociable
        and not is_box(statement.domain)
    ):
        return statement
    terms = _terms(value.right, statement)
    if terms is value.right:
        return statement
    return replace(statement, value=replace(value, right=terms))


def _terms(expr: Expr, statement: Statement) -> Expr:
    """Return a sum with each of its products regrouped."""
    if isinstance(expr, Unary) and expr.op is UnaryOp.NEG:
        inner = _terms(expr.operand, statement)
        return expr if inner is expr.operand else replace(expr, operand=inner)
    if not isinstance(expr, Binary) or not expr.dtype.is_float:
        return expr
    if expr.op in _SUM:
        left, right = _terms(expr.left, statement), _terms(expr.right, statement)
        same = left is expr.left and right is expr.right
        return expr if same else replace(expr, left=left, right=right)
    return _product(expr, statement) if expr.op is BinaryOp.MUL else expr


def _product(expr: Binary, statement: Statement) -> Expr:
    """Return `row * (scales * column)`, or the product itself if it has other factors."""
    factors = operands(expr, BinaryOp.MUL)
    scales = [factor for factor in factors if _is_scale(factor)]
    elements = [factor for factor in factors if isinstance(factor, Load) and factor.index]
    if not scales or len(elements) != 2 or len(scales) + 2 != len(factors):
        return expr
    if any(factor.dtype is not expr.dtype for factor in factors):
        return expr
    *outer, last = map(iterators, statement.target.index)
    rows, depths = set().union(*outer) - last, set(statement.iters) - last.union(*outer)
    for row, column in (elements, elements[::-1]):
        own, others = iterators(column), iterators(row)
        is_panel = own & last and not own & rows
        if is_panel and others & rows and not others & last and own & others & depths:
            return replace(expr, left=row, right=reduce(_times, (*scales, column)))
    return expr


def _times(left: Expr, right: Expr) -> Expr:
    return Binary(BinaryOp.MUL, left, right, right.dtype)


def _is_scale(expr: Expr) -> bool:
    """Tell whether an expression is the same number in the whole nest."""
    match expr:
        case Const() | Param() | Symbol() | Load(index=()):
            return True
        case Cast(operand=operand):
            return _is_scale(operand)
        case _:
            return False
