"""Define how languages spell types, literals, operators and functions; C11's forms in lanes.

In: dtypes, constants, calls.  Out: the protocol `Dialect`, and C11; which expressions have a form
in lanes, which need a helper.  A literal denotes exactly the same value.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from polyopt.dataclass import dataclass, replace
from polyopt.emit.helpers import HelperKind
from polyopt.errors import EmitError
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
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
    Unary,
    VectorLoad,
)
from polyopt.ir.showing import show
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

SMALL = frozenset({DType.INT8, DType.INT16, DType.UINT8, DType.UINT16})
VECTORIZED = {
    MathFunc[name]: HelperKind[name]
    for name in (
        *("EXP", "EXP2", "EXPM1", "LOG", "LOG2", "LOG10", "LOG1P", "SIN", "COS", "TAN"),
        *("ASIN", "ACOS", "ATAN", "ATAN2", "SINH", "COSH", "TANH", "CBRT", "HYPOT"),
        *("ERF", "ERFC"),
    )
}
"""Functions for which compilers would call the C library, one element at a time."""

OF_INTEGERS = {
    MathFunc[name]: HelperKind[name] for name in ("GCD", "HIGH_PRODUCT", "PHILOX", "NORMAL")
}
"""Functions of integers that C does not have."""

HELPER_OF = {
    BinaryOp.MIN: HelperKind.MIN,
    BinaryOp.MAX: HelperKind.MAX,
    BinaryOp.FLOORDIV: HelperKind.FLOORDIV,
    BinaryOp.MOD: HelperKind.MOD,
    BinaryOp.POW: HelperKind.POW,
    BinaryOp.SHL: HelperKind.SHL,
    BinaryOp.SHR: HelperKind.SHR,
    BinaryOp.MUL: HelperKind.MUL,
    BinaryOp.DIV: HelperKind.DIV,
}


def by_bits(expr: Binary) -> Binary:
    """Return a floor division by a power of two, or its rest, as a shift or a mask of bits.

    Right shifts of negative integers fill with their sign, in C as gcc and clang have it, too.
    """
    by = expr.right.value if isinstance(expr.right, Const) else 0
    if not isinstance(by, int) or by <= 0 or by & (by - 1) or not expr.dtype.is_integer:
        return expr
    if expr.op is BinaryOp.FLOORDIV:
        return replace(expr, op=BinaryOp.SHR, right=Const(by.bit_length() - 1, expr.dtype))
    return replace(expr, op=BinaryOp.AND, right=Const(by - 1, expr.dtype))


def helper_kind(expr: Binary, dialect: Dialect) -> HelperKind:
    """Return what computes an operation; sizes are divided by a positive number, as a rule."""
    by = expr.right.value if isinstance(expr.right, Const) else 0
    is_size = expr.op is BinaryOp.FLOORDIV and expr.dtype is DType.INT64
    if is_size and dialect is C11 and isinstance(by, int) and by > 0:
        return HelperKind.FLOOR
    return HELPER_OF[expr.op]


def larger_or_smaller(expr: Select) -> HelperKind | None:
    """Return what makes a choice by comparing just the two values to choose from."""
    match expr.condition:
        case Compare(op=CompareOp.GT | CompareOp.LT as op, left=left, right=right):
            if (left, right) == (expr.then, expr.otherwise):
                return HelperKind.LARGER if op is CompareOp.GT else HelperKind.SMALLER
            if (right, left) == (expr.then, expr.otherwise):
                return HelperKind.SMALLER if op is CompareOp.GT else HelperKind.LARGER
    return None


def is_moderate(divisor: Expr) -> bool:
    """Tell whether the reciprocal of a divisor is a normal number, or infinite as it is zero."""
    match divisor:
        case Const(value=float() as value):
            return value == 0 or 1e-30 < abs(value) < 1e30
        case Cast(operand=operand):
            return operand.dtype.is_integer or is_moderate(operand)
        case _:
            return False


def all_constant(expr: Expr) -> bool:
    match expr:
        case Const():
            return True
        case Unary() | Cast():
            return all_constant(expr.operand)
        case Binary():
            return all_constant(expr.left) and all_constant(expr.right)
        case _:
            return False


def no_order(expr: Expr) -> EmitError:
    return EmitError(
        "PO0401",
        f"complex numbers have no order in C: {show(expr)}",
        hint="compare the real parts or the magnitudes: `np.real(a) < np.real(b)`",
    )


def lanes(expr: Expr) -> int:
    """Return how many elements `expr` computes at once."""
    match expr:
        case Symbol() | VectorLoad() | Broadcast():
            return expr.lanes
        case Unary() | Cast():
            return lanes(expr.operand)
        case Binary() | Compare():
            return max(lanes(expr.left), lanes(expr.right))
        case Call():
            return max(lanes(a) for a in expr.args)
        case Select():
            return max(lanes(expr.then), lanes(expr.otherwise))
        case Const() | Iter() | Param() | Load():
            return 1
        case _:
            assert_never(expr)


_COMPLEX = {DType.COMPLEX64: "f", DType.COMPLEX128: ""}


class Dialect(Protocol):
    """The words of one language."""

    @property
    def own_functions(self) -> bool:
        """Whether functions like `exp` are printed as arithmetic, so that their loops vectorize."""

    def type_name(self, dtype: DType) -> str:
        """Return the type of a value."""

    def literal(self, const: Const, *, wide: bool = False) -> str:
        """Return a constant's text; `wide` forces 64-bit integers to have their own type."""

    def function(self, name: str, dtype: DType) -> str:
        """Return the name for `dtype` of a function of `math.h` or `complex.h`."""

    def call(self, call: Call, operand: DType, args: tuple[str, ...]) -> str:
        """Return the text of `call`, whose arguments have dtype `operand`."""


@dataclass(frozen=True, slots=True)
class C11Dialect:
    """C11 with `stdint.h`, `math.h` and `complex.h`."""

    own_functions: bool = True

    def type_name(self, dtype: DType) -> str:
        """Return the type of a value."""
        return dtype.value_ctype

    def literal(self, const: Const, *, wide: bool = False) -> str:
        """Return a constant's text."""
        return literal(const, wide=wide)

    def function(self, name: str, dtype: DType) -> str:
        """Return the name for `dtype` of a function."""
        if dtype.is_complex:
            return f"c{name}{_COMPLEX[dtype]}"
        return f"{name}f" if dtype is DType.FLOAT32 else name

    def call(self, call: Call, operand: DType, args: tuple[str, ...]) -> str:
        """Return the text of a call."""
        return call_text(call, operand, args)


C11 = C11Dialect()


SELECT, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, ATOM = (
    range(13)
)
"""C's precedence levels, loosest first."""

BITWISE = (BIT_OR, BIT_XOR, BIT_AND)

LEVEL = {
    BinaryOp.ADD: SUM,
    BinaryOp.SUB: SUM,
    BinaryOp.MUL: PRODUCT,
    BinaryOp.DIV: PRODUCT,
    BinaryOp.RATIO: PRODUCT,
    BinaryOp.FLOORDIV: PRODUCT,
    BinaryOp.MOD: PRODUCT,
    BinaryOp.SHL: SHIFT,
    BinaryOp.SHR: SHIFT,
    BinaryOp.AND: BIT_AND,
    BinaryOp.OR: BIT_OR,
    BinaryOp.XOR: BIT_XOR,
}

_ASSIGNING = {
    BinaryOp.ADD: "+=",
    BinaryOp.SUB: "-=",
    BinaryOp.MUL: "*=",
    BinaryOp.DIV: "/=",
}
_EXACT = (
    DType.INT32,
    DType.INT64,
    DType.UINT32,
    DType.UINT64,
    DType.FLOAT32,
    DType.FLOAT64,
)


def in_place(target: Expr, value: Expr) -> tuple[str, Binary] | None:
    """Return the operator for `target = value` and `value`, whose right side it is applied to."""
    if not isinstance(value, Binary) or value.left != target or target.dtype not in _EXACT:
        return None
    operator = _ASSIGNING.get(value.op)
    return None if operator is None else (operator, value)


def literal(const: Const, *, wide: bool = False) -> str:
    """Return the C text of `const`; `wide` forces 64-bit integers to have their own type.

    >>> literal(Const(0.1, DType.FLOAT32)), literal(Const(1, DType.FLOAT64))
    ('0.1f', '1.0')
    >>> literal(Const(-(2**63), DType.INT64)), literal(Const(7, DType.INT64), wide=True)
    ('INT64_MIN', 'INT64_C(7)')
    """
    match const.dtype.kind:
        case Kind.BOOL:
            return "true" if const.value else "false"
        case Kind.SIGNED:
            return _signed(_as_int(const), const.dtype, wide)
        case Kind.UNSIGNED:
            return _unsigned(_as_int(const), const.dtype)
        case Kind.FLOAT:
            return float_literal(_as_float(const), const.dtype)
        case Kind.COMPLEX:
            part = DType.FLOAT32 if const.dtype is DType.COMPLEX64 else DType.FLOAT64
            macro = "CMPLXF" if const.dtype is DType.COMPLEX64 else "CMPLX"
            value = complex(const.value)
            return f"{macro}({float_literal(value.real, part)}, {float_literal(value.imag, part)})"


def _as_int(const: Const) -> int:
    assert not isinstance(const.value, complex)
    bits = const.dtype.size * 8
    value = int(const.value) % (1 << bits)
    if const.dtype.kind is Kind.SIGNED and value >= 1 << (bits - 1):
        value -= 1 << bits
    return value


def _as_float(const: Const) -> float:
    assert not isinstance(const.value, complex)
    return float(const.value)


def _signed(value: int, dtype: DType, wide: bool) -> str:
    if dtype is DType.INT64:
        if value == -(2**63):
            return "INT64_MIN"
        if wide or not -(2**31) < value < 2**31:
            return f"INT64_C({value})" if value >= 0 else f"-INT64_C({-value})"
    if dtype is DType.INT32 and value == -(2**31):
        return "INT32_MIN"
    return str(value)


def _unsigned(value: int, dtype: DType) -> str:
    if dtype is DType.UINT64:
        return f"UINT64_C({value})"
    if dtype is DType.UINT32:
        return f"{value}u"
    return str(value)


def float_literal(value: float, dtype: DType) -> str:
    """Return a float constant: the shortest decimal text that reads back as the same number."""
    if math.isnan(value):
        return "NAN"
    if dtype is DType.FLOAT32 or dtype.is_half:
        with np.errstate(over="ignore"):
            value32 = np.float32(dtype.numpy.type(value))
        if np.isinf(value32):
            return "INFINITY" if value32 > 0 else "-INFINITY"
        return f"{_decimal(str(value32))}f"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return _decimal(repr(value))


def _decimal(text: str) -> str:
    return text if any(c in text for c in ".en") else f"{text}.0"


_TESTS = (MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE)
_ROUNDING = (MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT)
_COMPLEX_FUNCTIONS = {
    MathFunc.SQRT,
    MathFunc.EXP,
    MathFunc.LOG,
    MathFunc.SIN,
    MathFunc.COS,
    MathFunc.TAN,
    MathFunc.ASIN,
    MathFunc.ACOS,
    MathFunc.ATAN,
    MathFunc.SINH,
    MathFunc.COSH,
    MathFunc.TANH,
    MathFunc.ASINH,
    MathFunc.ACOSH,
    MathFunc.ATANH,
}


def call_text(call: Call, operand: DType, args: tuple[str, ...], single: str = "f") -> str:
    """Return the text of `call`, whose arguments have dtype `operand`.

    `single` ends the names of functions on FLOAT32.
    """
    func = call.func
    if func is MathFunc.COMPLEX:
        return f"{'CMPLXF' if call.dtype is DType.COMPLEX64 else 'CMPLX'}({', '.join(args)})"
    if func is MathFunc.POPCOUNT:
        return f"((uint8_t)__builtin_popcountll({args[0]}))"
    if operand.is_complex:
        return _complex_call(call, operand, args)
    if func is MathFunc.REAL or func is MathFunc.CONJ:
        return f"({args[0]})"
    if func is MathFunc.IMAG:
        return "(0)"
    if not operand.is_float:
        return _integer_call(call, args)
    if func in _TESTS or func is MathFunc.SIGNBIT:
        return f"({func.value}({args[0]}) != 0)"
    suffix = single if operand is DType.FLOAT32 else ""
    return f"{func.c_name}{suffix}({', '.join(args)})"


def _integer_call(call: Call, args: tuple[str, ...]) -> str:
    if call.func in _ROUNDING:
        return f"({args[0]})"
    if call.func is MathFunc.SIGNBIT:
        return f"({args[0]} < 0)"
    if call.func in _TESTS:
        return "(true)" if call.func is MathFunc.ISFINITE else "(false)"
    raise _missing(call)


def _complex_call(call: Call, operand: DType, args: tuple[str, ...]) -> str:
    func = call.func
    suffix = "f" if operand is DType.COMPLEX64 else ""
    if func in (MathFunc.REAL, MathFunc.IMAG, MathFunc.CONJ):
        return f"{func.value}{suffix}({args[0]})"
    if func in _TESTS:
        join = "&&" if func is MathFunc.ISFINITE else "||"
        parts = (f"{func.value}({part}{suffix}({args[0]}))" for part in ("creal", "cimag"))
        return f"({f' {join} '.join(parts)})"
    if func in _COMPLEX_FUNCTIONS:
        return f"c{func.value}{suffix}({args[0]})"
    raise _missing(call)


def _missing(call: Call) -> EmitError:
    return EmitError(
        "PO0402",
        f"`{call.func.value}` has no C function for {call.args[0].dtype}: {show(call)}",
        hint="convert the operand with .astype(np.float64) first",
    )
