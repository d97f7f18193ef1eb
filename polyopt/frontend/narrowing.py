"""Python integers beside narrow NumPy integers: they must fit; comparisons take any.

In: operands of an elementwise operation and the dtypes NumPy computes it in.
Out: checks of the call; for comparisons, dtypes wide enough for both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.integers import at_least, both, either, is_affine
from polyopt.frontend.ranges import MOST, of_type, range_of
from polyopt.frontend.values import Number, Operandish, Tensor
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, integer, show
from polyopt.ir.types import DType

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
