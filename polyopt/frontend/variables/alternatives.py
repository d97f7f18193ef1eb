"""Numbers that are of one type on some paths and of another type on others.

In: two numbers and the condition that picks one.  Out: one number, of a type that holds both.
Operators whose result's type depends on the path are applied to each of the two (`either_way`).
Refuses: NumPy's integers of several widths (PO0161), constants that the type does not hold
(PO0145); values found by the running kernel that it does not hold are a fault (PO0234).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import Elementwise, apply, operand_kinds
from polyopt.frontend.arithmetic.exponents import may_be_complex
from polyopt.frontend.arithmetic.narrowing import demand_fit
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    both,
    either,
    is_affine,
    minus,
    negated,
    plus,
    select,
    times,
)
from polyopt.frontend.integers.ranges import range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import is_stable, stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import (
    Operand,
    cast,
    is_constant,
    is_rounded,
    joined,
    loop_dtypes,
    unrounded,
)
from polyopt.frontend.values.values import Number, Operandish, Sides, Tensor, Value
from polyopt.frontend.variables.dynamic_types import as_kind, grouped, kind_of, leaves
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, Load
from polyopt.ir.types import DType


def choose(b: Builder, condition: Expr, then: Number, otherwise: Number, loc: Loc | None) -> Number:
    """Return `then if condition else otherwise`."""
    dtype, weak = joined(kind_of(then), kind_of(otherwise), loc)
    if any(is_rounded(leaf, dtype) for side in (then, otherwise) for leaf in leaves(side)):
        dtype = unrounded(dtype)
    first = exactly(b, then, dtype, loc, condition)
    second = exactly(b, otherwise, dtype, loc, negated(condition))
    whole = select(condition, first, second)
    if isinstance(condition, Const):
        return Number(whole, weak, (then if condition.value else otherwise).sides)
    return Number(whole, weak, grouped(Sides(condition, then, otherwise)))


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
    return -(2**dtype.digits), 2**dtype.digits


def kept_apart(b: Builder, value: Number, name: str) -> Number:
    """Return the number in a variable, and its sides, where later writes cannot change them."""
    whole = value if is_stable(value) else stored_number(b, value, name)
    if value.sides is None:
        return whole
    condition = Number(value.sides.condition, True)
    if not is_stable(condition):
        condition = stored_number(b, condition, f"{name}_is")
    then = kept_apart(b, value.sides.then, name)
    otherwise = then if condition.expr == TRUE else kept_apart(b, value.sides.otherwise, name)
    return Number(whole.expr, value.weak, Sides(condition.expr, then, otherwise))


def applied(
    b: Builder, op: Elementwise, values: Sequence[Operandish], loc: Loc | None
) -> Operandish:
    """Return a ufunc of numbers and arrays, for the type that a number of several types has."""
    given = tuple(values)
    if any(isinstance(value, Number) and value.sides is not None for value in given):
        found = either_way(b, op, given, given, lambda v: _applied(b, op, v, loc), loc)
        if isinstance(found, Number | Tensor):
            return found
    return apply(b, op, given, loc)


def _applied(b: Builder, op: Elementwise, values: tuple[Value, ...], loc: Loc | None) -> Value:
    return applied(b, op, [v for v in values if isinstance(v, Number | Tensor)], loc)


def either_way(
    b: Builder,
    op: Elementwise,
    values: tuple[Value, ...],
    numbers: tuple[Operandish, ...],
    compute: Callable[[tuple[Value, ...]], Value],
    loc: Loc | None,
) -> Value | None:
    """Return `compute(values)` of each side of the first number that has two.

    None where no number has, or the result does not depend on it.
    """
    for place, number in enumerate(numbers):
        if not isinstance(number, Number) or number.sides is None:
            continue

        def put(side: Number, place: int = place) -> tuple[Operandish, ...]:
            return (*numbers[:place], side, *numbers[place + 1 :])

        whole = _result(op, put(Number(number.expr, number.weak)))
        sides = tuple(leaves(number))
        if all(_is_as_good(b, op, put(side), whole) for side in sides):
            continue

        def computed(side: Number, place: int = place) -> Value:
            return compute((*values[:place], side, *values[place + 1 :]))

        one = _of_one_kind(b, op, put, number)
        if one is not None:
            return computed(one)
        if not all(isinstance(other, Number) for other in numbers):
            good = [side for side in sides if _is_rounded_only(op, _result(op, put(side)), whole)]
            return computed(_assumed(b, number, {kind_of(side) for side in good}, loc))
        condition = number.sides.condition
        found: list[Value] = []
        for side, here in (
            (number.sides.then, condition),
            (number.sides.otherwise, negated(condition)),
        ):
            with b.operand(here):
                found.append(computed(side))
        then, otherwise = found
        if isinstance(then, Number) and isinstance(otherwise, Number):
            return choose(b, condition, then, otherwise, loc)
    return None


def _of_one_kind(
    b: Builder,
    op: Elementwise,
    put: Callable[[Number], tuple[Operandish, ...]],
    number: Number,
) -> Number | None:
    """Return a number of one type where its others give the same, or differ in digits only.

    These are constants: what a name is before a loop, as `s = 0` before a sum of floats.
    """
    sides = tuple(leaves(number))
    if op.name == "power" and any(_may_raise(b, put(side)) for side in sides):
        return None
    results = {_result(op, put(side)) for side in sides}
    kinds = {kind_of(side) for side in sides if not is_constant(side.expr)}
    if len(kinds) == 1 and results <= _REAL:
        return as_kind(Number(number.expr, number.weak), *kinds)
    return _as_one(number, sides) if len(results) == 1 else None


def told_apart(op: Elementwise, numbers: tuple[Operandish, ...], result: Operandish) -> Operandish:
    """Return a result whose value does not depend on which of several types an operand has.

    Its own type does.
    """
    if not isinstance(result, Number) or result.sides is not None or result.dtype is DType.BOOL:
        return result
    for place, number in enumerate(numbers):
        if not isinstance(number, Number) or number.sides is None:
            continue

        def mirrored(side: Number, place: int = place) -> Number:
            if side.sides is not None:
                then, otherwise = mirrored(side.sides.then), mirrored(side.sides.otherwise)
                sides = Sides(side.sides.condition, then, otherwise)
                return Number(result.expr, result.weak, sides)
            way = (*numbers[:place], side, *numbers[place + 1 :])
            weak = all(value.weak for value in way)
            parts = [value.expr for value in way if isinstance(value, Number)]
            if weak and _result(op, way) == DType.INT64.value != result.dtype.value:
                return Number(_OF_SMALL[op.name](*parts), True)
            return Number(result.expr, weak)

        found = mirrored(number)
        if any(kind_of(leaf) != kind_of(result) for leaf in leaves(found)):
            return found
    return result


def _as_one(number: Number, sides: tuple[Number, ...]) -> Number:
    """Return a number of several types as one of them that gives the same result as each."""
    side = next((side for side in sides if not side.weak), sides[0])
    if len(sides) == 1 or number.sides is None:
        return side
    if isinstance(number.expr, Load):
        return Number(cast(number.expr, side.dtype), side.weak)
    return Number(_converted(number, side.dtype), side.weak)


def _converted(number: Number, dtype: DType) -> Expr:
    if number.sides is None:
        return cast(number.expr, dtype)
    then, otherwise = number.sides.then, number.sides.otherwise
    return select(number.sides.condition, _converted(then, dtype), _converted(otherwise, dtype))


def _assumed(b: Builder, number: Number, good: set[Operand], loc: Loc | None) -> Number:
    """Return a number beside an array, whose type has to be known: another one is a fault.

    That is the type of all numbers that are not constants, as what a name is before a loop often
    is.  `good`: types for which the array is as good with the type that holds all.
    """
    message = "the type of an array depends on which of several types a number has"
    hint = "convert the number to one type, such as np.float64(x)"
    usual = {kind_of(side) for side in leaves(number) if not is_constant(side.expr)}
    known = usual | good if len(usual) == 1 else {kind_of(number)}
    if all(kind_of(side) not in known for side in leaves(number)):
        refuse("PO0161", message, loc, hint)
    b.fail_where(_is_none_of(number, known), b.fault("PO0161", message, loc, hint))
    (kind,) = usual if len(usual) == 1 else {kind_of(number)}
    return as_kind(Number(number.expr, number.weak), kind)


def _is_none_of(number: Number, kinds: set[Operand]) -> Expr:
    """Return the condition that a number has a type that is none of `kinds`."""
    if number.sides is None:
        return FALSE if kind_of(number) in kinds else TRUE
    then, otherwise = number.sides.then, number.sides.otherwise
    return select(number.sides.condition, _is_none_of(then, kinds), _is_none_of(otherwise, kinds))


def _is_rounded_only(op: Elementwise, result: str | None, whole: str | None) -> bool:
    """Whether an array of type `result` is one of type `whole` with fewer digits."""
    if result not in _MANTISSA or whole not in _MANTISSA or op.name not in _CONTINUOUS:
        return False
    return np.can_cast(np.dtype(result), np.dtype(whole))


def _is_as_good(
    b: Builder, op: Elementwise, numbers: tuple[Operandish, ...], whole: str | None
) -> bool:
    """Whether the result of these numbers is that of the type which holds all."""
    if _result(op, numbers) == whole:
        return op.name != "power" or not _may_raise(b, numbers)
    small = [n for n in numbers if isinstance(n, Number) and n.weak and n.dtype is DType.INT64]
    if len(small) < len(numbers) or whole not in _MANTISSA:
        return False
    spans = [range_of(number.expr, b.span_of) for number in small]
    sizes = [max(-span.low, span.high) for span in spans]
    most: int = 1 << _MANTISSA[whole]
    match op.name:
        case "add" | "subtract":
            return sum(sizes) <= most
        case "multiply":  # -0.0 is no integer
            return all(span.low >= 0 for span in spans) and math.prod(sizes) <= most
        case "divide":
            return sizes[0] == 0
        case _:
            return False


def _may_raise(b: Builder, numbers: tuple[Operandish, ...]) -> bool:
    """Whether these are numbers of Python's own whose power is an error."""
    base, exponent = numbers
    if not isinstance(base, Number) or not isinstance(exponent, Number):
        return False
    return base.weak and exponent.weak and may_be_complex(b, base, exponent)


_REAL = {"float16", "float32", "float64"}
_CONTINUOUS = {"add", "subtract", "multiply", "divide"}
_OF_SMALL = {"add": plus, "subtract": minus, "multiply": times}
_MANTISSA = {"float32": 24, "float64": 53, "complex64": 24, "complex128": 53}


def _result(op: Elementwise, numbers: tuple[Operandish, ...]) -> str | None:
    """Return the type of the result, None where there is none."""
    kinds = operand_kinds(numbers)
    if all(value.weak for value in numbers):  # Python's bool counts as an integer
        kinds = tuple((DType.INT64 if d is DType.BOOL else d, weak) for d, weak in kinds)
    try:
        return loop_dtypes(op.ufunc, kinds)[-1]
    except TypeError:
        return None
