"""np.where, np.clip and other elementwise functions that are no ufuncs.

In: arguments of the call.  Out: lazy arrays or numbers.
"""

from __future__ import annotations

import numpy as np

from polyopt.frontend.arguments import Arguments, is_none, known_int
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.elementwise import apply, combine, operand_kinds
from polyopt.frontend.integers import select
from polyopt.frontend.operators import operand
from polyopt.frontend.promote import call, cast, common_dtype, real_dtype
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import Value
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, MathFunc
from polyopt.ir.types import DType


def where(b: Builder, args: Arguments) -> Value:
    """np.where with three arguments"""
    condition, then, otherwise = args.take("condition", "x y")
    if is_none(then) or is_none(otherwise):
        hint = "give the values for true and false: np.where(c, x, y)"
        refuse("PO0151", "np.where with one argument has a result of unknown size", args.loc, hint)
    values = tuple(operand(value, args.loc) for value in (condition, then, otherwise))
    kind = common_dtype(operand_kinds(values[1:]), args.loc)
    inputs = (DType.BOOL, kind, kind)
    return combine(b, "np.where", values, inputs, kind, lambda p, _: select(*p), args.loc)


def clip(b: Builder, args: Arguments) -> Value:
    """np.clip: maximum with the lower bound, then minimum with the upper one"""
    array, low, high = args.take("a", "a_min a_max")
    value = operand(array, args.loc)
    if not is_none(low):
        value = apply(b, UFUNCS["maximum"], (value, operand(low, args.loc)), args.loc)
    if not is_none(high):
        value = apply(b, UFUNCS["minimum"], (value, operand(high, args.loc)), args.loc)
    return value


def real(b: Builder, args: Arguments) -> Value:
    """np.real, ndarray.real"""
    return _part(b, args, MathFunc.REAL)


def imag(b: Builder, args: Arguments) -> Value:
    """np.imag, ndarray.imag"""
    return _part(b, args, MathFunc.IMAG)


def _part(b: Builder, args: Arguments, func: MathFunc) -> Value:
    (array,) = args.take("val")
    value = operand(array, args.loc)
    if not value.dtype.is_complex:
        if func is MathFunc.IMAG:
            zero = cast(Const(0, DType.INT64), value.dtype)
            same = (value.dtype,)
            return combine(b, "imag", (value,), same, value.dtype, lambda p, _: zero, args.loc)
        return value
    kind = real_dtype(value.dtype)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        return call(func, *parts, dtype=out)

    return combine(b, func.value, (value,), (value.dtype,), kind, rule, args.loc)


def round_(b: Builder, args: Arguments) -> Value:
    """np.round to integers"""
    array, decimals = args.take("a", "decimals")
    if not is_none(decimals) and known_int(b, decimals, "decimals", args.loc) != 0:
        hint = "scale, round and scale back"
        refuse("PO0151", "np.round to other than whole numbers", args.loc, hint)
    return apply(b, UFUNCS["rint"], (operand(array, args.loc),), args.loc)


def nan_to_num(b: Builder, args: Arguments) -> Value:
    """np.nan_to_num with its defaults"""
    (array,) = args.take("x")
    value = operand(array, args.loc)
    if not value.dtype.is_float:
        return value
    kind = value.dtype
    info = np.finfo(kind.value)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        x = parts[0]
        top, bottom = Const(float(info.max), out), Const(float(info.min), out)
        inner = select(Compare(CompareOp.LT, x, bottom), bottom, x)
        outer = select(Compare(CompareOp.GT, x, top), top, inner)
        return select(call(MathFunc.ISNAN, x, dtype=DType.BOOL), Const(0.0, out), outer)

    return combine(b, "np.nan_to_num", (value,), (kind,), kind, rule, args.loc, repeats=True)
