"""Conditions: truth values, comparisons, `and`, `or` and conditional expressions of values.

In: values that were evaluated.  Out: a known truth value, a BOOL number, or the chosen operand."""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager
from enum import Enum

import numpy as np

from polyopt import frontend
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import combine
from polyopt.frontend.arithmetic.operators import COMPARE, describe, operand, operate
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    both,
    either,
    is_affine,
    negated,
    select,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import settled
from polyopt.frontend.program.snapshots import picked_side
from polyopt.frontend.subscripts.masks import through
from polyopt.frontend.syntax.liveness import binds
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import beside_arrays
from polyopt.frontend.values.promote import cast, common_dtype
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Known,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    has_loads,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.alternatives import choose
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.expr import Expr, Select
from polyopt.ir.types import DType


def truth(b: Builder, value: Value, loc: Loc | None) -> Known | Number:
    """Return a condition: a known truth value, or a BOOL number."""
    match value:
        case Known(value=known):
            if isinstance(known, np.ndarray):
                refuse("PO0142", "an array has no truth value", loc, "use np.any or np.all")
            return Known(bool(known))
        case Sequence(items=items):
            return Known(bool(items))
        case _:
            found = settled(b, operand(value, loc))
    if isinstance(found, Tensor):
        hint = "combine arrays with `&`, `|` and `~`, choose with np.where, reduce with np.all"
        refuse("PO0142", "an array has no truth value", loc, hint)
    condition = _condition_of(found.expr)
    if condition in (TRUE, FALSE):
        return Known(condition == TRUE)
    return Number(condition, True)


def inverted(value: Known | Number) -> Value:
    if isinstance(value, Known):
        return Known(not value.value)
    return Number(negated(value.expr), True)


def computed_once(b: Builder, value: Value) -> Value:
    """Return a value whose reduction is computed here, not where a condition may leave it out."""
    return settled(b, value) if isinstance(value, Tensor) else value


def held(b: Builder, condition: Number, *later: ast.expr) -> Number:
    """Return a condition that operands evaluated later do not change by binding names."""
    if not binds(*later):
        return condition
    return Number(b.unconditional("holds", condition.expr, FALSE), True)


def operand_under(
    b: Builder, frame: Frame, condition: Expr, node: ast.expr
) -> AbstractContextManager[None]:
    """Everything inside, `node`, is evaluated only where the condition holds."""
    if not binds(node):
        return b.operand(condition)
    return frontend.reader.optional_operands.operand(b, frame, condition, node)


def number_of(b: Builder, value: Value, node: ast.expr, frame: Frame) -> Number | None:
    if isinstance(value, Known) and number_of_known(value) is None:
        return None
    found = settled(b, operand(value, frame.loc(node)))
    return found if isinstance(found, Number) else None


def number_of_known(value: Known) -> object | None:
    """Return the Python number that `value` is, if it is one."""
    known = value.value
    return known if isinstance(known, bool | int | float | complex | np.generic) else None


def both_or_either(is_and: bool, left: Expr, right: Expr) -> Expr:
    """Join conditions; one on array elements is read only where an affine one leaves it open."""
    if is_affine(left) and has_loads(right):
        return select(left, right, FALSE) if is_and else select(left, TRUE, right)
    return both(left, right) if is_and else either(left, right)


def _condition_of(expr: Expr) -> Expr:
    """Return an expression as a condition; `x and y` of numbers is a condition of both."""
    if isinstance(expr, Select) and expr.dtype is not DType.BOOL:
        if cast(expr.otherwise, DType.BOOL) == expr.condition:
            return both_or_either(True, expr.condition, _condition_of(expr.then))
        if cast(expr.then, DType.BOOL) == expr.condition:
            return both_or_either(False, expr.condition, _condition_of(expr.otherwise))
    return cast(expr, DType.BOOL)


def chained(b: Builder, left: Value, right: Value, loc: Loc | None) -> Value:
    first, second = truth(b, left, loc), truth(b, right, loc)
    if isinstance(first, Known):
        return second if first.value else first
    if isinstance(second, Known):
        return first if second.value else second
    return Number(both(first.expr, second.expr), True)


def compared(b: Builder, op: ast.cmpop, left: Value, right: Value, loc: Loc | None) -> Value:
    records = [v for v in (left, right) if isinstance(v, Known) and isinstance(v.value, Record)]
    with_none = any(isinstance(v, Known) and v.value is None for v in (left, right))
    if records and not with_none and not isinstance(op, ast.In | ast.NotIn):
        hint = "compare what they hold: `p.x == q.x`, or `p['x'] == q['x']`"
        refuse("PO0127", f"a comparison of {describe(records[0])}", loc, hint)
    match left, right:
        case Known(value=Enum() as one), Known(value=Enum() as two):
            return Known((one == two) == isinstance(op, ast.Eq | ast.Is))
        case _:
            pass
    match op:
        case ast.Is() | ast.IsNot():
            same = _is_same(left, right, loc)
            return Known(same == isinstance(op, ast.Is))
        case ast.In() | ast.NotIn():
            return frontend.python.membership.contained(b, left, right, isinstance(op, ast.In), loc)
        case _:
            name = COMPARE[type(op)]
            lists.operated(b, name, (left, right), loc)
            left, right = beside_arrays(b, (left, right), loc)
            return through(b, (left, right), lambda plain: operate(b, name, plain, loc), loc)


def _is_same(left: Value, right: Value, loc: Loc | None) -> bool:
    match left, right:
        case Known(value=a), Known(value=c):
            return a is c
        case (Known(value=None), _) | (_, Known(value=None)):
            return False
        case _:
            refuse("PO0127", "`is` between values", loc, "compare with `==`")


def chosen_side(
    b: Builder,
    condition: Number,
    then: Number | Tensor,
    otherwise: Number | Tensor,
    loc: Loc | None,
) -> Value:
    """Return `then` where a condition holds, else `otherwise`; PO0161 where their types differ."""
    expr = condition.expr
    if isinstance(then, Number) and isinstance(otherwise, Number):
        return choose(b, expr, then, otherwise, loc)
    weak = then.weak and otherwise.weak
    kind = _kind_of_both(b, then, otherwise, loc)
    inputs = (DType.BOOL, kind, kind)
    values = (condition, then, otherwise)
    result = combine(b, "conditional", values, inputs, kind, lambda p, _: select(*p), loc)
    if isinstance(result, Number):
        return Number(result.expr, weak)
    return picked_side(b, as_tensor(result), (as_tensor(then), as_tensor(otherwise)), loc)


def _kind_of_both(b: Builder, then: Operandish, otherwise: Operandish, loc: Loc | None) -> DType:
    """Python gives the side as it is; its own numbers get a type for both, others must agree."""
    kind = common_dtype(((then.dtype, then.weak), (otherwise.dtype, otherwise.weak)), loc)
    sides = (as_tensor(then), as_tensor(otherwise))
    arrays = any(side.rank > 0 for side in sides)
    changed = any(not side.weak and side.dtype is not kind for side in sides)
    if changed or (arrays and len({side.dtype is DType.BOOL for side in sides}) > 1):
        hint = "convert both sides to one type, such as float(x)"
        refuse("PO0161", "the sides of a conditional have different types", loc, hint)
    if sides[0].rank != sides[1].rank:
        hint = "use np.where, or assign in both branches of an `if`"
        refuse("PO0161", "the sides of a conditional have different shapes", loc, hint)
    for left, right in zip(sides[0].shape, sides[1].shape, strict=True):
        equate(b, left, right, "conditional", loc)
    return kind
