"""Python integers beside narrow NumPy integers: they must fit; comparisons take any.

In: operands of an elementwise operation and the dtypes NumPy computes it in; numbers that are put
into arrays.  Out: checks of the call, faults; for comparisons, dtypes wide enough for both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    at_least,
    both,
    either,
    is_affine,
    negated,
)
from polyopt.frontend.integers.ranges import MOST, Span, of_type, range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.values import Number, Operandish, Tensor
from polyopt.ir.expr import Cast, Compare, CompareOp, Const, Expr, integer
from polyopt.ir.showing import show
from polyopt.ir.types import DType, Kind

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))


def demand_fit(b: Builder, value: Operandish, dtype: DType, loc: Loc | None) -> None:
    """Require that a Python integer, known at the call, fits `dtype`; constants are seen later."""
    expr = _weak_integer(value)
    if expr is None or isinstance(expr, Const) or not dtype.is_integer or dtype is DType.INT64:
        return
    if not is_affine(expr):
        _note_fit(b, expr, dtype, loc)
        return
    info = np.iinfo(dtype.value)
    fits = at_least(expr, integer(int(info.min)))
    if dtype is not DType.UINT64:
        fits = both(fits, at_least(integer(int(info.max)), expr))
    message = f"`{show(expr)}` does not fit {dtype}"
    b.demand(fits, "PO0176", message, loc, "use a wider element type")


def _note_fit(b: Builder, value: Expr, dtype: DType, loc: Loc | None) -> None:
    """Note a fault where an integer that the kernel finds does not fit."""
    whole = of_type(dtype)
    if b.scout or range_of(value, b.span_of).within(whole):
        return
    outside: Expr = Compare(CompareOp.LT, value, integer(whole.low))
    if whole.high < MOST:
        outside = either(outside, Compare(CompareOp.GT, value, integer(whole.high)))
    hint = "use a wider element type, or convert the integer first"
    number = b.fault("PO0234", f"an integer of `{b.words}` does not fit {dtype}", loc, hint)
    b.fail_where(outside, number, guarded=True)


def demand_stored(
    b: Builder, number: Number, dtype: DType, loc: Loc | None, *, picked: bool = False
) -> None:
    """Require that a number fits an array of integers, of which it becomes some elements.

    NumPy 2 converts numbers for single elements and slices one by one: signed types refuse what
    they do not hold, also NaN; unsigned ones, and elements `picked` by a mask or by subscripts,
    refuse Python's own numbers only.  Python's integers are `demand_fit`'s.
    """
    expr = number.expr
    is_free = not number.weak and (picked or dtype.kind is Kind.UNSIGNED)
    if b.scout or not dtype.is_integer or is_free or (number.weak and expr.dtype.is_integer):
        return
    whole = of_type(dtype)
    if expr.dtype.is_float:
        outside = _unfit(expr, whole.low, whole.high)
    elif expr.dtype.is_integer and not range_of(expr, b.span_of).within(whole):
        outside = _beyond(expr, of_type(expr.dtype), whole)
    else:
        return
    if outside == FALSE:
        return
    hint = "test the number before it is stored, or convert arrays with `.astype`"
    message = f"a number of `{b.words}` is NaN or does not fit {dtype}"
    b.fail_where(outside, b.fault("PO0234", message, loc, hint), guarded=True)


def _unfit(expr: Expr, low: int, high: int) -> Expr:
    """Return whether a float, rounded towards zero, leaves `low..high`, or is NaN."""
    if isinstance(expr, Const):
        value = float(expr.value.real)
        return FALSE if math.isfinite(value) and low <= int(value) <= high else TRUE
    wide = expr if expr.dtype is DType.FLOAT64 else Cast(expr, DType.FLOAT64)
    is_word = high >= 2**53  # the limits themselves are floats, the next integers are not
    first, last = (float(low), float(high + 1)) if is_word else (low - 1.0, high + 1.0)
    above = CompareOp.GE if is_word else CompareOp.GT
    fits = both(
        Compare(above, wide, Const(first, DType.FLOAT64)),
        Compare(CompareOp.LT, wide, Const(last, DType.FLOAT64)),
    )
    return negated(fits)


def _beyond(expr: Expr, own: Span, whole: Span) -> Expr:
    outside: Expr = FALSE
    if own.low < whole.low:
        outside = Compare(CompareOp.LT, expr, Const(whole.low, expr.dtype))
    if own.high > whole.high:
        outside = either(outside, Compare(CompareOp.GT, expr, Const(whole.high, expr.dtype)))
    return outside


def compared_in(values: Sequence[Operandish], inputs: tuple[DType, ...]) -> tuple[DType, ...]:
    """Return dtypes in which integers of both sides compare by value."""
    kind = inputs[0]
    if len(inputs) != 2 or not kind.is_integer or kind is DType.INT64:
        return inputs
    for value in values:
        expr = _weak_integer(value)
        if expr is None or (isinstance(expr, Const) and _fits(expr.value, kind)):
            continue
        if kind is not DType.UINT64:
            return (DType.INT64, DType.INT64)
        if isinstance(expr, Const):  # negative: less than every element, as a float too
            return (DType.FLOAT64, DType.FLOAT64)
    return inputs


def is_beyond(value: Operandish, kind: DType, *, below: bool) -> bool:
    """Whether a constant bound lies outside `kind` on the side where it changes nothing."""
    expr = _weak_integer(value)
    if not kind.is_integer or not isinstance(expr, Const) or not isinstance(expr.value, int):
        return False
    info = np.iinfo(kind.value)
    return expr.value < info.min if below else expr.value > info.max


def _fits(value: object, kind: DType) -> bool:
    info = np.iinfo(kind.value)
    return isinstance(value, int) and info.min <= value <= info.max


def _weak_integer(value: Operandish) -> Expr | None:
    match value:
        case Number(expr=expr, weak=True) if value.dtype is DType.INT64:
            return expr
        case Tensor(shape=(), weak=True, fold=None) if value.dtype is DType.INT64:
            return value.at(())
        case _:
            return None
