"""Numbers that are of one type on some paths and of another type on others.

In: two numbers and the condition that picks one.  Out: one number, of a type that holds both.
Operators whose result's type depends on the path are applied to each of the two (`either_way`).
Refuses: NumPy's integers of several widths (PO0161), constants that the type does not hold
(PO0145); values found by the running kernel that it does not hold are a fault (PO0234).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.elementwise import Elementwise, operand_kinds
from polyopt.frontend.integers import FALSE, both, either, is_affine, negated, select
from polyopt.frontend.memory import is_stable, stored_number
from polyopt.frontend.narrowing import demand_fit
from polyopt.frontend.promote import cast, joined, loop_dtypes, real_dtype
from polyopt.frontend.values import Number, Operandish, Sides, Value
from polyopt.ir.expr import Compare, CompareOp, Const, Expr
from polyopt.ir.types import DType

DEEPEST = 3  # choices in choices that are kept apart


def choose(b: Builder, condition: Expr, then: Number, otherwise: Number, loc: Loc | None) -> Number:
    """Return `then if condition else otherwise`."""
    dtype, weak = joined((then.dtype, then.weak), (otherwise.dtype, otherwise.weak), loc)
    first = exactly(b, then, dtype, loc, condition)
    second = exactly(b, otherwise, dtype, loc, negated(condition))
    sides = Sides(condition, then, otherwise)
    is_mixed = then.dtype is not otherwise.dtype and not isinstance(condition, Const)
    kept = sides if is_mixed and _depth(sides) <= DEEPEST else None
    return Number(select(condition, first, second), weak, kept)


def _depth(sides: Sides) -> int:
    inner = (number.sides for number in (sides.then, sides.otherwise))
    return 1 + max((_depth(found) for found in inner if found is not None), default=0)


def exactly(  # noqa: C901  one case per kind
    b: Builder, number: Number, dtype: DType, loc: Loc | None, where: Expr | None = None
) -> Expr:
    """Return the number in a type that it shares with others, which must hold its value."""
    source, expr = number.dtype, number.expr
    if source is dtype or not source.is_integer:
        return cast(expr, dtype, loc)
    low, high = _range(dtype)
    if isinstance(expr, Const):
        if not dtype.is_integer and not low <= int(expr.value.real) <= high:
            refuse("PO0145", f"{expr.value} is not exact in {dtype}", loc, "start with a float")
        return cast(expr, dtype, loc)
    if not number.weak and dtype.is_integer:
        message = f"a number of {source} on some paths is one of {dtype} on others"
        refuse("PO0161", message, loc, f"convert both to one type, such as np.{dtype}(x)")
    lowest, highest = _range(source)
    if low <= lowest and highest <= high:
        return cast(expr, dtype, loc)
    if is_affine(expr) and dtype.is_integer:
        with b.under((where,) if where is not None and is_affine(where) else ()):
            demand_fit(b, number, dtype, loc)
    elif not is_affine(expr) or high < 2**48:
        hint = "convert it to that type where it is computed, or use another name"
        message = f"an integer does not fit {dtype}, which it becomes here"
        outside: Expr = FALSE
        for op, limit in ((CompareOp.LT, low), (CompareOp.GT, high)):
            if lowest <= limit <= highest:
                outside = either(outside, Compare(op, expr, Const(limit, source)))
        if where is not None:
            outside = both(where, outside)
        b.fail_where(outside, b.fault("PO0234", message, loc, hint))
    return cast(expr, dtype, loc)


def _range(dtype: DType) -> tuple[int, int]:
    """Return between which integers all are values of `dtype`."""
    if dtype is DType.BOOL:
        return 0, 1
    if dtype.is_integer:
        info = np.iinfo(dtype.value)
        return int(info.min), int(info.max)
    digits = _DIGITS[real_dtype(dtype)]
    return -(2**digits), 2**digits


_DIGITS = {DType.FLOAT16: 11, DType.BFLOAT16: 8, DType.FLOAT32: 24, DType.FLOAT64: 53}


def kept_apart(b: Builder, value: Number, name: str) -> Number:
    """Return the number in a variable, and its sides, where later writes cannot change them."""
    whole = value if is_stable(value) else stored_number(b, value, name)
    if value.sides is None:
        return whole
    condition = Number(value.sides.condition, True)
    if not is_stable(condition):
        condition = stored_number(b, condition, f"{name}_is")
    then, otherwise = (
        kept_apart(b, side, name) for side in (value.sides.then, value.sides.otherwise)
    )
    return Number(whole.expr, value.weak, Sides(condition.expr, then, otherwise))


def either_way(
    b: Builder,
    op: Elementwise,
    values: tuple[Value, ...],
    numbers: tuple[Operandish, ...],
    compute: Callable[[tuple[Value, ...]], Value],
    loc: Loc | None,
) -> Value | None:
    """Return `compute(values)` of each side of the first number that has two.

    None where no number has, or the type of the result does not depend on it.
    """
    if not all(isinstance(number, Number) for number in numbers):
        return None
    for place, number in enumerate(numbers):
        if not isinstance(number, Number) or number.sides is None:
            continue
        sides = (number.sides.then, number.sides.otherwise)
        ways = [(*numbers[:place], side, *numbers[place + 1 :]) for side in sides]
        if len({_result(op, way) for way in ways}) == 1:
            continue
        condition = number.sides.condition
        found: list[Value] = []
        for side, here in zip(sides, (condition, negated(condition)), strict=True):
            with b.operand(here):
                found.append(compute((*values[:place], side, *values[place + 1 :])))
        then, otherwise = found
        if isinstance(then, Number) and isinstance(otherwise, Number):
            return choose(b, condition, then, otherwise, loc)
    return None


def _result(op: Elementwise, numbers: tuple[Operandish, ...]) -> str | None:
    """Return the type of the result, None where there is none."""
    kinds = operand_kinds(numbers)
    if all(value.weak for value in numbers):  # Python's bool counts as an integer
        kinds = tuple((DType.INT64 if d is DType.BOOL else d, weak) for d, weak in kinds)
    try:
        return loop_dtypes(op.ufunc, kinds)[-1]
    except TypeError:
        return None
