"""Integers of more than 64 bits: constants beside floats, in comparisons, as masks and moduli.

In: an operator with such a constant.  Out: values that fit, or the result.
Refuses: results that no 64 bits hold (PO0145).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import integer_text
from polyopt.frontend.integers.affine_integers import ZERO, less, select
from polyopt.frontend.integers.exact_integers import nonnegative
from polyopt.frontend.integers.ranges import LEAST, MOST
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Known, Number, Tensor, Value
from polyopt.ir.expr import Binary, BinaryOp, integer
from polyopt.ir.types import DType

HINT = "write the constant as a float, such as `2.0 ** 70`"
_ABOVE = {"less": True, "less_equal": True, "not_equal": True, "equal": False, "greater": False,
          "greater_equal": False}  # fmt: skip
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less",
             "greater_equal": "less_equal"}  # fmt: skip


def is_large(value: Value) -> bool:
    """Whether a value is a constant integer that does not fit 64 bits."""
    return isinstance(value, Known) and type(value.value) is int and not _fits(value.value)


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
