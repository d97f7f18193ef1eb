"""Which expressions have a form in lanes, which need a helper, and what constants allow."""

from __future__ import annotations

from typing import Protocol

from polyopt.dataclass import dataclass
from polyopt.emit.cmath import call_text
from polyopt.emit.helpers import HelperKind
from polyopt.emit.literals import literal
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
from polyopt.ir.types import DType
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
