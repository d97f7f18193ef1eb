"""Print calls of `math.h` and `complex.h` functions.

In: a `Call`, the dtype of its first argument, the arguments' text.  Out: text that is one operand.
Refuses: functions without a version for the dtype (PO0402).
"""

from __future__ import annotations

from polyopt.errors import EmitError
from polyopt.ir.expr import Call, MathFunc
from polyopt.ir.showing import show
from polyopt.ir.types import DType

_TESTS = (MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE)
_ROUNDING = (MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT)
_COMPLEX = {
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
    if func in _COMPLEX:
        return f"c{func.value}{suffix}({args[0]})"
    raise _missing(call)


def _missing(call: Call) -> EmitError:
    return EmitError(
        "PO0402",
        f"`{call.func.value}` has no C function for {call.args[0].dtype}: {show(call)}",
        hint="convert the operand with .astype(np.float64) first",
    )
