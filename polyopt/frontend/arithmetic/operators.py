"""Python's operators on front-end values: folding of constants, Python's rules for its own numbers.

In: an operator's NumPy name and two values.  Out: a value.
Constants of more than 64 bits give values that fit, or are refused.
"""

from __future__ import annotations

import ast

import numpy as np

from polyopt import frontend
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import Elementwise, apply
from polyopt.frontend.arithmetic.exponents import demand_real, nonzero, root
from polyopt.frontend.arithmetic.folding import check_items, fold, integer_text
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    both,
    is_affine,
    less,
    negated,
    select,
)
from polyopt.frontend.integers.exact_integers import exact, in_words, nonnegative
from polyopt.frontend.integers.ranges import LEAST, MOST
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import settled
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import as_affine, quotient
from polyopt.frontend.values.promote import cast, number_of
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.values import (
    Gone,
    Growing,
    Iterated,
    Known,
    Masked,
    Method,
    Number,
    Operandish,
    Perhaps,
    Range,
    Sequence,
    Slice,
    Tensor,
    Value,
)
from polyopt.frontend.variables.alternatives import either_way, told_apart
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, integer
from polyopt.ir.types import DType

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift", ast.RShift: "right_shift",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert",
}  # fmt: skip
_DIVISIONS = frozenset(["divide", "floor_divide", "remainder"])
_COMPARISONS = frozenset(COMPARE.values())
_ORDER = _COMPARISONS - {"equal", "not_equal"}
_BITWISE = frozenset(["bitwise_and", "bitwise_or", "bitwise_xor"])


def operate(
    b: Builder, name: str, values: tuple[Value, ...], loc: Loc | None, *, wraps: bool = False
) -> Value:
    """Return the result of an operator; `wraps`: of Python's integers, modulo 2**64."""
    if all(isinstance(value, Known) for value in values):
        return Known(fold(name, [value.value for value in values if isinstance(value, Known)], loc))
    fitting = _in_words(b, name, values, loc, wraps)
    if not isinstance(fitting, tuple):
        return fitting
    values = fitting
    if any(isinstance(value, Sequence) for value in values):
        found = _of_sequences(b, name, values, loc)
        if found is not None:
            return found
    operands = tuple(settled(b, operand(value, loc)) for value in values)
    if any(isinstance(value, Number) and value.sides is not None for value in operands):
        found = either_way(
            b, UFUNCS[name], values, operands, lambda v: operate(b, name, v, loc), loc
        )
        if found is not None:
            return found
        return told_apart(UFUNCS[name], operands, _operate(b, name, operands, loc, wraps))
    return _operate(b, name, operands, loc, wraps)


def _operate(
    b: Builder, name: str, operands: tuple[Operandish, ...], loc: Loc | None, wraps: bool
) -> Operandish:
    """Return the result of an operator on numbers and arrays."""
    numbers = tuple(v for v in operands if isinstance(v, Number) and v.weak)
    if len(numbers) == len(operands):
        return _python(b, name, numbers, loc, wraps)
    if name == "power":
        base = operands[0]
        if isinstance(base, Tensor) and base.dtype is DType.BOOL and _is_two(operands[1]):
            return apply(b, UFUNCS["square"], operands[:1], loc)
    return apply(b, _of_numbers(name, operands), operands, loc)


def _of_numbers(name: str, operands: tuple[Operandish, ...]) -> Elementwise:
    """Return an operator; the power one half is none of NumPy's ufuncs where both are numbers."""
    exponent = operands[-1]
    if name != "power" or not all(isinstance(value, Number) for value in operands):
        return UFUNCS[name]
    is_half = isinstance(exponent, Number) and exponent.expr == Const(0.5, exponent.dtype)
    is_real = not any(value.dtype.is_complex for value in operands)
    return _ROOT if is_half and is_real else UFUNCS[name]


_ROOT = Elementwise(np.power, root, repeats=True)


def _in_words(
    b: Builder, name: str, values: tuple[Value, ...], loc: Loc | None, wraps: bool
) -> tuple[Value, ...] | Value:
    """Return operands whose constants fit 64 bits, or the result beside one that does not."""
    if wraps:
        return tuple(frontend.arithmetic.modular_sums.wrapped(value) for value in values)
    if any(is_large(value) for value in values):
        return with_large(b, name, values, loc)
    return values


def _of_sequences(
    b: Builder, name: str, values: tuple[Value, ...], loc: Loc | None
) -> Value | None:
    """Tuples and lists: one after the other, repeated, compared item by item."""
    parts = [_items(value) for value in values]
    match name, parts:
        case "add", [tuple(left), tuple(right)]:
            check_items(len(left) + len(right), loc)
            return Sequence((*left, *right), _is_list(values[0]))
        case "multiply", [tuple(items), None] | [None, tuple(items)]:
            count = values[1] if parts[1] is None else values[0]
            if isinstance(count, Known) and isinstance(count.value, int):
                check_items(len(items) * count.value, loc)
                return Sequence(items * count.value, any(_is_list(v) for v in values))
            return None
        case (("equal" | "not_equal"), [tuple(left), tuple(right)]):
            return _compared(b, left, right, name == "equal", loc)
        case _:
            return None


def _items(value: Value) -> tuple[Value, ...] | None:
    match value:
        case Sequence(items=items):
            return items
        case Known(value=tuple() | list() as known):
            return tuple(Known(item) for item in known)
        case _:
            return None


def _is_list(value: Value) -> bool:
    return isinstance(value, Sequence) and value.is_list


def _compared(
    b: Builder,
    left: tuple[Value, ...],
    right: tuple[Value, ...],
    wanted: bool,
    loc: Loc | None,
) -> Value:
    total: Expr = Const(len(left) == len(right), DType.BOOL)
    for one, other in zip(left, right, strict=False):
        same = operate(b, "equal", (one, other), loc)
        if isinstance(same, Known):
            total = both(total, Const(bool(same.value), DType.BOOL))
            continue
        found = settled(b, operand(same, loc))
        if isinstance(found, Tensor):
            refuse("PO0142", "a comparison of tuples that hold arrays", loc, "use np.array_equal")
        total = both(total, found.expr)
    if isinstance(total, Const):
        return Known(bool(total.value) is wanted)
    return Number(total if wanted else negated(total), True)


def _is_two(exponent: Operandish) -> bool:
    """NumPy squares arrays of bool as int8, but raises them to other powers as integers."""
    return isinstance(exponent, Number) and exponent.expr == Const(2, DType.INT64)


def _python(
    b: Builder, name: str, operands: tuple[Number, ...], loc: Loc | None, wraps: bool
) -> Number:
    """Operators on Python's own numbers: bool counts as int, the result stays weak.

    `wraps`: only the lowest bits of the result are used.
    """
    if name in _ORDER and any(number.dtype.is_complex for number in operands):
        refuse("PO0146", "Python does not order complex numbers", loc, "compare `.real`, or abs()")
    wide = operands
    if name in _COMPARISONS or (name in _BITWISE and operands[0].dtype is DType.BOOL):
        result = apply(b, UFUNCS[name], operands, loc)
    else:
        wide = tuple(as_int(number) for number in operands)
        if name in ("remainder", "floor_divide") and wide[0].dtype is wide[1].dtype is DType.INT64:
            found = frontend.arithmetic.periodic.by_size(b, name, wide[0].expr, wide[1].expr)
            if found is None:
                found = quotient(b, name, wide[0].expr, wide[1].expr)
            if found is not None:
                return Number(exact(b, name, (wide[0].expr, wide[1].expr), found, loc), True)
        if name in _DIVISIONS:
            wide = (wide[0], nonzero(b, wide[1], loc))
        if name == "power":
            _refuse_unknown_exponent(b, wide, loc)
            demand_real(b, wide[0], wide[1], loc)
        result = apply(b, _of_numbers(name, wide), wide, loc)
    assert isinstance(result, Number)
    if result.dtype is DType.INT64:
        parts = tuple(number.expr for number in wide)
        whole = in_words(name, parts, as_affine(b.facts, result.expr), loc)
        if name in _COMPARISONS or wraps:
            return Number(whole, True)
        return Number(exact(b, name, parts, whole, loc), True)
    return Number(result.expr, True)


def as_int(number: Number) -> Number:
    """Return a bool as the integer that Python computes with; other numbers as they are."""
    if number.dtype is not DType.BOOL:
        return number
    return Number(cast(number.expr, DType.INT64), True)


def _refuse_unknown_exponent(b: Builder, operands: tuple[Number, ...], loc: Loc | None) -> None:
    base, exponent = operands
    if not (base.dtype.is_integer and exponent.dtype.is_integer):
        return
    if b.nonnegative(exponent.expr):
        return
    hint = "write the base as a float, such as `2.0 ** k`"
    message = "an integer power whose exponent may be negative has no fixed type"
    if not is_affine(exponent.expr):
        refuse("PO0147", message, loc, hint)
    b.demand(at_least(exponent.expr, ZERO), "PO0147", message, loc, hint)


def operand(value: Value, loc: Loc | None) -> Operandish:
    """Return a value that arithmetic accepts; refuses everything but numbers and arrays."""
    match value:
        case Number() | Tensor():
            return value
        case Known(value=known):
            if isinstance(known, str):
                hint = "pass a number where a number is computed with"
                refuse("PO0116", f"the text {known!r} is no number and no array", loc, hint)
            number = number_of(known, loc)
            if number is None:
                refuse("PO0124", f"{describe(value)} cannot be used as a number or an array", loc)
            return number
        case Gone():
            refuse(value.code, value.reason, loc, value.hint)
        case Masked():
            hint = "use np.where(mask, x, y) with arrays of the full shape"
            refuse("PO0135", f"{describe(value)} have an unknown count", loc, hint)
        case Iterated(as_array=as_array) if as_array is not None:
            hint = "make an array of it, `np.array([... for ...])`; np.concatenate joins arrays"
            refuse("PO0124", f"{describe(value)} cannot be computed with", loc, hint)
        case Sequence() | Growing() | Range() | Slice() | Iterated() | Method() | Perhaps():
            refuse("PO0124", f"{describe(value)} cannot be used as a number or an array", loc)


def _describe_known(known: object) -> str:
    if isinstance(known, Record):
        return "a dict" if known.kind is dict else f"an object of class `{known.kind.__name__}`"
    kind = type(known).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{known!r}" if isinstance(known, str | type(None)) else f"{article} {kind}"


def _describe_items(value: Range | Iterated) -> str:
    if isinstance(value, Range):
        return "a range"
    return "an iterator" if value.as_array is None else "a list of a length that the call decides"


def describe(value: Value) -> str:
    """Return what a value is, for messages."""
    match value:
        case Known(value=known):
            return _describe_known(known)
        case Number(dtype=dtype) | Perhaps(dtype=dtype):
            return f"a number of {dtype}"
        case Tensor():
            return f"an array of rank {value.rank}"
        case Masked():
            return "elements under a mask"
        case Sequence() | Growing():
            return "a tuple or list"
        case Range() | Iterated():
            return _describe_items(value)
        case Slice():
            return "a slice"
        case Method():
            return f"the method `{value.name}` without a call"
        case Gone():
            return value.reason


HINT = "write the constant as a float, such as `2.0 ** 70`"
_ABOVE = {"less": True, "less_equal": True, "not_equal": True, "equal": False, "greater": False,
          "greater_equal": False}  # fmt: skip
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less",
             "greater_equal": "less_equal"}  # fmt: skip


def is_large(value: Value) -> bool:
    """Whether a value is a constant integer that does not fit 64 bits."""
    return isinstance(value, Known) and type(value.value) is int and not _fits(value.value)


def as_uint64(value: Value) -> Known | None:
    """Return a constant integer as a NumPy number, None where it has more than 64 bits."""
    whole = value.value if isinstance(value, Known) else None
    return Known(np.uint64(whole)) if isinstance(whole, int) and 0 <= whole < 2**64 else None


def _fits(value: int) -> bool:
    return LEAST <= value <= MOST


def with_large(
    b: Builder, name: str, values: tuple[Value, ...], loc: Loc | None
) -> tuple[Value, ...] | Value:
    """Return operands that fit in place of `values`, one of them large; or the result."""
    if len(values) != 2:
        return values
    place = 0 if is_large(values[0]) else 1
    constant, other = values[place], values[1 - place]
    assert isinstance(constant, Known)
    assert isinstance(constant.value, int)
    if isinstance(other, Number | Tensor) and (other.dtype.is_float or other.dtype.is_complex):
        near = Known(_as_float(constant.value, name in _ABOVE, loc))
        return (near, other) if place == 0 else (other, near)
    word = as_uint64(constant)
    if isinstance(other, Number | Tensor) and other.dtype is DType.UINT64 and word is not None:
        return (word, other) if place == 0 else (other, word)
    if not isinstance(other, Number) or not other.weak:
        return values
    found = _beside_integer(b, name if place else _MIRRORED.get(name, name), place, other, constant)
    return values if found is None else found


def _as_float(value: int, compared: bool, loc: Loc | None) -> float:
    """Return the nearest float; where it is compared, the same number."""
    try:
        near = float(value)
    except OverflowError:
        refuse("PO0145", f"{integer_text(value)} does not fit a float", loc)
    if compared and near != value:
        refuse("PO0145", f"{integer_text(value)} is no float", loc, "compare with a float")
    return near


def _beside_integer(
    b: Builder, name: str, place: int, other: Number, constant: Known
) -> Value | None:
    """Return the result where 64 bits hold it for every integer of 64 bits, or else a fault."""
    value = constant.value
    assert isinstance(value, int)
    if name in _ABOVE:
        return Known(_ABOVE[name] is (value > 0) or (name == "not_equal"))
    if other.dtype is not DType.INT64 or value < 0:
        return None
    match name, place:
        case "floor_divide", 1:
            return Number(select(less(other.expr, ZERO), integer(-1), ZERO), True)
        case "remainder", 1:
            return Number(nonnegative(b, other.expr), True)
        case "bitwise_and", _:
            held = nonnegative(b, other.expr)
            return Number(Binary(BinaryOp.AND, held, integer(value & MOST), DType.INT64), True)
        case _:
            return None
