"""NumPy's rules for the dtypes of operations and casts (NEP 50), asked of NumPy itself.

In: operand dtypes and weakness.  Out: loop dtypes; expressions with every `Cast` in place.
Refuses: results NumPy computes in types polyopt lacks (PO0143), undefined operations (PO0146).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import integer_text
from polyopt.frontend.integers.affine_integers import is_size, strip_casts
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.values import Known, Number, Value
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    walk,
)
from polyopt.ir.types import DType, Kind

Operand: TypeAlias = tuple[DType, bool]  # dtype, weak

_PYTHON_TYPES = {Kind.SIGNED: int, Kind.FLOAT: float, Kind.COMPLEX: complex}


@lru_cache(maxsize=4096)
def loop_dtypes(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[str, ...]:
    """Return NumPy's names of the input and output dtypes of `ufunc` for such operands.

    Raises `TypeError` when NumPy has no such loop.
    """
    decided = all(weak for _, weak in operands)  # comparisons of Python's integers are objects'
    given = [
        _PYTHON_TYPES.get(d.kind, d.numpy) if weak and not decided else d.numpy
        for d, weak in operands
    ]
    found = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    return tuple(dtype.name for dtype in found)


def _conversion(operands: tuple[Operand, ...]) -> str:
    """Return a hint: how to convert operands for which a function is not defined."""
    if any(dtype.is_complex for dtype, _ in operands):
        return "take the part that is meant, with `.real` for example"
    kind = "int64" if any(dtype.is_float for dtype, _ in operands) else "float64"
    return f"convert the operands first, with `.astype(np.{kind})` for example"


def dtypes_of(ufunc: np.ufunc, operands: tuple[Operand, ...], loc: Loc | None) -> tuple[DType, ...]:
    """Return the input and output dtypes of `ufunc`; refuses what polyopt cannot compute."""
    shown = ", ".join(str(dtype) for dtype, _ in operands)
    try:
        names = loop_dtypes(ufunc, operands)
    except TypeError:
        refuse_raising(
            "PO0146",
            f"`{ufunc.__name__}` is not defined for {shown}",
            loc,
            _conversion(operands),
        )
    for name in names:
        if name not in DType._value2member_map_:
            refuse(
                "PO0143",
                f"`{ufunc.__name__}` of {shown} is computed in {name}",
                loc,
                "convert the operands first, with `.astype(np.float32)` for example",
            )
    return tuple(DType(name) for name in names)


def typed_loop(
    ufunc: np.ufunc, operands: tuple[Operand, ...], dtype: DType, loc: Loc | None
) -> tuple[DType, ...]:
    """Return the dtypes of the loop of `ufunc` whose result is of `dtype`, as `dtype=` asks."""
    given = [_PYTHON_TYPES.get(d.kind, d.numpy) if weak else d.numpy for d, weak in operands]
    wanted = (*[None] * ufunc.nin, *[dtype.numpy] * ufunc.nout)
    try:
        found = ufunc.resolve_dtypes(
            (*given, *[None] * ufunc.nout), signature=wanted, casting="same_kind"
        )
    except TypeError:
        refuse("PO0146", f"`{ufunc.__name__}` has no loop with results of {dtype}", loc)
    return tuple(DType(kind.name) for kind in found)


def common_dtype(operands: tuple[Operand, ...], loc: Loc | None) -> DType:
    """Return `np.result_type` of the operands."""
    result = operands[0]
    for other in operands[1:]:
        result = (common_pair(result, other, loc), result[1] and other[1])
    return result[0]


def common_pair(left: Operand, right: Operand, loc: Loc | None) -> DType:
    """Return the dtype that holds both."""
    if left[0] is right[0]:
        return left[0]
    if DType.BFLOAT16 in (left[0], right[0]):
        return _beside_bfloat16(left, right, loc)
    if DType.BOOL in (left[0], right[0]):
        other = left if right[0] is DType.BOOL else right
        return other[0]
    return dtypes_of(np.add, (left, right), loc)[-1]


def joined(left: Operand, right: Operand, loc: Loc | None) -> Operand:
    """Return dtype and weakness of a variable that holds both kinds of numbers."""
    if left == right:
        return left
    if left[0].kind is Kind.BOOL and right[0].kind is Kind.BOOL:
        return DType.BOOL, left[1] and right[1]
    return common_pair(left, right, loc), left[1] and right[1]


def unrounded(dtype: DType) -> DType:
    """Return the type that holds a float of Python's beside those of a float or complex type."""
    if not (dtype.is_float or dtype.is_complex):
        return dtype
    return DType.COMPLEX128 if dtype.is_complex else DType.FLOAT64


def is_rounded(number: Number, dtype: DType) -> bool:
    """Whether a float of Python's may change its value in a type that it shares with others.

    What is computed of constants alone is not asked: it may be rounded as in arithmetic.
    """
    expr = number.expr
    if not number.weak or not (number.dtype.is_float or number.dtype.is_complex):
        return False
    if not (dtype.is_float or dtype.is_complex) or unrounded(dtype) is dtype:
        return False
    if not isinstance(expr, Const):
        return not is_constant(expr)
    value = complex(convert_constant(expr, dtype, None).value)
    return not np.isnan(complex(expr.value)) and value != complex(expr.value)


def is_constant(expr: Expr) -> bool:
    """Whether a number is computed of constants and sizes alone."""
    return all(part.dtype.is_integer or not isinstance(part, (Load, Symbol)) for part in walk(expr))


_SAMPLES = {Kind.SIGNED: 1, Kind.FLOAT: 1.0, Kind.COMPLEX: 1j}


def _beside_bfloat16(left: Operand, right: Operand, loc: Loc | None) -> DType:
    """Return NumPy's common type, which may differ from the one that numbers are added in."""
    samples = [_SAMPLES.get(d.kind, d.numpy) if weak else d.numpy for d, weak in (left, right)]
    try:
        return DType(np.result_type(*samples).name)
    except TypeError:
        shown = f"{left[0]} and {right[0]}"
        refuse("PO0146", f"{shown} have no common type", loc, "convert one with `.astype`")


def cast(expr: Expr, dtype: DType, loc: Loc | None = None) -> Expr:
    """Return `expr` converted to `dtype`; constants are converted at once."""
    if expr.dtype is dtype:
        return expr
    if isinstance(expr, Const):
        return convert_constant(expr, dtype, loc)
    if isinstance(expr, Select) and all(_is_cast_back(e, dtype) for e in _sides(expr)):
        then, otherwise = (cast(_inner(e), dtype, loc) for e in _sides(expr))
        return Select(expr.condition, then, otherwise, dtype)
    if dtype is DType.INT64 and expr.dtype.is_integer:
        bare = strip_casts(Cast(expr, dtype))  # a size in a narrower type has its value
        return bare if bare.dtype is dtype else Cast(expr, dtype)
    if isinstance(expr, Param | Iter) and _may_wrap(expr, dtype):
        return Cast(Cast(expr, DType.UINT64), dtype)  # that value, not the name's, is what is left
    if dtype is DType.BOOL:
        return Compare(CompareOp.NE, expr, convert_constant(Const(0, DType.INT64), expr.dtype, loc))
    if expr.dtype.is_float and dtype in (DType.UINT32, DType.UINT64):
        return _unsigned(expr, dtype)
    return Cast(expr, dtype)


def _unsigned(expr: Expr, dtype: DType) -> Expr:
    """Return a float as an unsigned integer: modulo 2**bits, as NumPy's are; C's need not be."""
    found = Cast(Cast(expr, DType.INT64), dtype)
    if dtype is DType.UINT32:
        return found
    if expr.dtype.is_half:
        return _unsigned(Cast(expr, DType.FLOAT32), dtype)
    half = Const(2.0**63, expr.dtype)
    rest = Cast(Cast(Binary(BinaryOp.SUB, expr, half, expr.dtype), DType.INT64), dtype)
    upper = Binary(BinaryOp.XOR, rest, Const(2**63, dtype), dtype)
    return Select(Compare(CompareOp.GE, expr, half), upper, found, dtype)


def _sides(expr: Select) -> tuple[Expr, Expr]:
    return expr.then, expr.otherwise


def _is_cast_back(expr: Expr, dtype: DType) -> bool:
    """Whether a float needs no conversion to `dtype` while the kernel runs."""
    if not dtype.is_float:
        return False
    is_wider = isinstance(expr, Cast) and expr.operand.dtype is dtype and expr.dtype.is_float
    return is_wider or isinstance(expr, Const)


def _inner(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Cast) else expr


def _may_wrap(expr: Param | Iter, dtype: DType) -> bool:
    """Whether a number may not fit the type it is cast to; extents are below 2**31 there."""
    if not dtype.is_integer or dtype.size == 8:
        return False
    return dtype.size < 4 or (isinstance(expr, Param) and not is_size(expr.name))


def convert_constant(expr: Const, dtype: DType, loc: Loc | None) -> Const:
    """Return the constant in `dtype`; an integer that does not fit is refused."""
    match dtype.kind:
        case Kind.BOOL:
            return Const(bool(expr.value), dtype)
        case Kind.FLOAT:
            if isinstance(expr.value, complex):
                refuse("PO0144", "a complex number cannot become a real one", loc, "take `.real`")
            return Const(float(dtype.numpy.type(expr.value)), dtype)
        case Kind.COMPLEX:
            return Const(complex(expr.value), dtype)
        case _:
            pass
    if isinstance(expr.value, complex):
        refuse("PO0144", "a complex number cannot become an integer", loc, "take `.real`")
    if isinstance(expr.value, float) and not np.isfinite(expr.value):
        refuse("PO0144", f"{expr.value} cannot become an integer", loc)
    value = int(expr.value)
    info = np.iinfo(dtype.value)
    if not info.min <= value <= info.max:
        refuse(
            "PO0145", f"{integer_text(value)} does not fit {dtype}", loc, "use a wider element type"
        )
    return Const(value, dtype)


def wrapped(value: int, dtype: DType) -> int:
    """Return an integer as NumPy's arithmetic in an integer type leaves it."""
    return int(np.uint64(value % 2**64).astype(dtype.numpy))


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def is_castable(source: DType, target: DType, rule: str) -> bool:
    """Whether NumPy casts `source` to `target` under `rule` ("same_kind", "safe", …)."""
    if rule not in CASTINGS:
        refuse("PO0151", f"casting {rule!r}", None, f"use one of {', '.join(CASTINGS)}")
    return bool(np.can_cast(source.numpy, target.numpy, casting=rule))  # type: ignore[arg-type]


def as_number(value: Value, loc: Loc | None) -> Number | None:
    """Return a number, known or not, or None when `value` is none."""
    match value:
        case Number():
            return value
        case Known(value=known):
            return number_of(known, loc)
        case _:
            return None


def number_of(value: object, loc: Loc | None) -> Number | None:
    """Return a Python or NumPy number as a constant, or None when `value` is no number."""
    match value:
        case bool():
            return Number(Const(value, DType.BOOL), True)
        case np.bool_():
            return Number(Const(bool(value), DType.BOOL), False)
        case int():
            if not -(2**63) <= value < 2**63:
                hint = "write it as a float, such as `2.0 ** 70`"
                if 0 <= value < 2**64:
                    hint = f"write `np.uint64({value})`, or a float"
                refuse("PO0145", f"{integer_text(value)} does not fit int64", loc, hint)
            return Number(Const(value, DType.INT64), True)
        case np.generic():
            return _numpy_number(value, loc)
        case float():
            return Number(Const(value, DType.FLOAT64), True)
        case complex():
            return Number(Const(value, DType.COMPLEX128), True)
        case _:
            return None


def _numpy_number(value: np.generic, loc: Loc | None) -> Number | None:
    name = value.dtype.name
    if name not in DType._value2member_map_:
        refuse("PO0143", f"a constant of type {name}", loc)
    return Number(Const(value.item(), DType(name)), False)


def is_same(left: object, right: object) -> bool:
    """Whether two objects known while compiling are one value of one type; 0.0 and -0.0 differ."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, float | complex | np.generic):
        return number_of(left, None) == number_of(right, None)
    return bool(left == right)


def real_dtype(dtype: DType) -> DType:
    """Return the type of real and imaginary parts."""
    return {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(dtype, dtype)


def call(func: MathFunc, *args: Expr, dtype: DType | None = None) -> Expr:
    """Return `func(*args)` in the dtype of its first argument, or `dtype`."""
    return Call(func, args, dtype or args[0].dtype)


def binary(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """Return `left op right` in their common dtype."""
    assert left.dtype is right.dtype, (op, left.dtype, right.dtype)
    return Binary(op, left, right, left.dtype)
