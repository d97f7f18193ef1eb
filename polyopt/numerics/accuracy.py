"""Operations whose last bits are a library's choice: how far two implementations may lie apart.

In: an expression node.  Out: its `Accuracy`, or None where every implementation rounds alike.
`ours` is what the emitted code computes with (its own text or the C library), `reference` NumPy and
Python; both are the documented largest errors against the exact value, in units of the last place.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Binary, BinaryOp, Call, Expr, MathFunc, Unary, UnaryOp
from polyopt.ir.types import DType, Kind


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Largest errors of one operation, in units of the last place of its result."""

    name: str
    dtype: DType
    ours: float
    reference: float

    @property
    def apart(self) -> float:
        """How far two correct results may lie apart."""
        return self.ours + self.reference


_VECTORIZED = 4.0  # NumPy's own loops for many elements at once stay below 4
_FUNCTIONS: dict[MathFunc, float] = {
    MathFunc.CBRT: 4.0,
    MathFunc.EXP: 1.0,
    MathFunc.EXP2: 1.0,
    MathFunc.EXPM1: 3.0,
    MathFunc.LOG: 1.0,
    MathFunc.LOG2: 2.0,
    MathFunc.LOG10: 2.0,
    MathFunc.LOG1P: 3.0,
    MathFunc.SIN: 3.0,
    MathFunc.COS: 3.0,
    MathFunc.TAN: 3.0,
    MathFunc.ASIN: 2.0,
    MathFunc.ACOS: 2.0,
    MathFunc.ATAN: 2.0,
    MathFunc.SINH: 3.0,
    MathFunc.COSH: 3.0,
    MathFunc.TANH: 3.0,
    MathFunc.ASINH: 4.0,
    MathFunc.ACOSH: 4.0,
    MathFunc.ATANH: 4.0,
    MathFunc.ERF: 2.0,
    MathFunc.ERFC: 5.0,
    MathFunc.LGAMMA: 8.0,
    MathFunc.TGAMMA: 12.0,
    MathFunc.ATAN2: 2.0,
    MathFunc.HYPOT: 1.0,
    MathFunc.POWER: 4.0,
}
_ROUNDED = 0.5
_RECIPROCAL = 2.0  # is rounded, and the product with it
_COMPLEX_FUNCTION = 16.0
_COMPLEX_PRODUCT = 3.0  # of the modulus: the root of five roundings (Brent et al., 2007)
_COMPLEX_QUOTIENT = 8.0
_EXACT_COMPLEX = frozenset(
    {
        *(MathFunc.REAL, MathFunc.IMAG, MathFunc.CONJ, MathFunc.COMPLEX),
        *(MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE),
    }
)


def accuracy(expr: Expr) -> Accuracy | None:
    """Return how far implementations of the operation at the root of `expr` may lie apart."""
    match expr:
        case Binary(op=BinaryOp.POW, dtype=dtype) if dtype.is_float:
            return Accuracy("pow", dtype, 1.0, _VECTORIZED)
        case Binary(op=BinaryOp.POW, dtype=dtype) if dtype.is_complex:
            return Accuracy("pow", dtype, _COMPLEX_FUNCTION, _COMPLEX_FUNCTION)
        case Binary(op=BinaryOp.MUL, dtype=dtype) if dtype.is_complex:
            return Accuracy("complex product", dtype, _COMPLEX_PRODUCT, _COMPLEX_PRODUCT)
        case Binary(op=BinaryOp.DIV, dtype=dtype) if dtype.is_complex:
            return Accuracy("complex quotient", dtype, _COMPLEX_QUOTIENT, _COMPLEX_QUOTIENT)
        case Binary(op=BinaryOp.RATIO, dtype=dtype):
            return Accuracy("division", dtype, _RECIPROCAL, _ROUNDED)
        case Unary(op=UnaryOp.ABS, operand=operand) if operand.dtype.is_complex:
            return Accuracy("complex modulus", expr.dtype, 1.0, _VECTORIZED)
        case Call():
            return _of_call(expr)
        case _:
            return None


def _of_call(call: Call) -> Accuracy | None:
    operand = call.args[0].dtype
    if operand.is_complex:
        if call.func in _EXACT_COMPLEX:
            return None
        apart = _COMPLEX_FUNCTION
        return Accuracy(f"complex {call.func.c_name}", call.dtype, apart, apart)
    own = _FUNCTIONS.get(call.func)
    if own is None or operand.kind is not Kind.FLOAT:
        return None
    if operand.is_half:  # computed in float32
        return Accuracy(call.func.c_name, call.dtype, 1.0, _VECTORIZED)
    return Accuracy(call.func.c_name, call.dtype, own, max(own, _VECTORIZED))
