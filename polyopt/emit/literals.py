"""Print constants as C text that denotes exactly the same value.

In: a `Const`.  Out: text of one literal, a macro, or a negated literal.
Refuses: nothing.
"""

from __future__ import annotations

import math

import numpy as np

from polyopt.ir.expr import Const
from polyopt.ir.types import DType, Kind


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
