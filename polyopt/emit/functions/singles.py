"""Exponentials and hyperbolic functions of float32, computed in float32.

In: nothing.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, 2.5 for hyperbolic functions and `expm1`.
A register has twice as many lanes of floats as of doubles, and nothing is converted.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import EXP2_FLOAT, EXP_FLOAT
from polyopt.emit.functions.text import guarded, horner_float
from polyopt.ir.types import DType

_LOG2_E = "0x1.715476p0f"
_LN2_HIGH, _LN2_LOW = "0x1.62e43p-1f", "-0x1.05c61p-29f"

# Added to a small float, these round it to an integer k.  The sum's lowest bits are k and the bias
# of an exponent: once, or twice where the power of two is made of two factors.
_SHIFT = "12583039.0f"
_SHIFT_TWICE = "12583166.0f"

_SCALE = (
    "union { float value; uint32_t bits; } scale;",
    "scale.value = shifted;",
    "scale.bits <<= 23;",
)
_SCALES = (
    "union { float value; uint32_t bits; } from, first, second;",
    "from.value = shifted;",
    "first.bits = from.bits >> 1;",
    "second.bits = (from.bits - first.bits) << 23;",
    "first.bits <<= 23;",
)
_LESS_ONE = "float less_one = fmaf(tail, scale.value, scale.value - 1.0f);"
_HALF = (
    "union { float value; uint32_t bits; } inverse;",
    "inverse.bits = (UINT32_C(254) << 23) - second.bits;",
    "float half = fmaf(tail, first.value, first.value - inverse.value);",
)


def exp_body() -> list[str]:
    """Return `exp(x)`."""
    fast = [
        *_reduced("x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x", _SHIFT_TWICE),
        f"float series = fmaf(r, {horner_float('r', ('1.0', *EXP_FLOAT))}, 1.0f);",
        *_SCALES,
        "return series * first.value * second.value;",
    ]
    return guarded(fast, "exp", DType.FLOAT32)


def exp2_body() -> list[str]:
    """Return `exp2(x)`."""
    log2, *rest = EXP2_FLOAT
    fast = [
        "float y = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;",
        f"float shifted = y + {_SHIFT_TWICE};",
        f"float r = y - (shifted - {_SHIFT_TWICE});",
        f"float tail = fmaf(r, {log2}f, r * {horner_float('r', tuple(rest))});",
        *_SCALES,
        "return (1.0f + tail) * first.value * second.value;",
    ]
    return guarded(fast, "exp2", DType.FLOAT32)


def expm1_body() -> list[str]:
    """Return `exp(x) - 1`."""
    fast = [
        *_tail("x < -40.0f ? -40.0f : x > 89.0f ? 89.0f : x", _SHIFT_TWICE),
        *_SCALES,
        *_HALF,
        "return x == 0.0f ? x : half * second.value;",
    ]
    return guarded(fast, "expm1", DType.FLOAT32)


def tanh_body() -> list[str]:
    """Return `tanh(x)` from the exponential of `2 * x`."""
    fast = [
        "float size = 2.0f * fabsf(x);",
        *_tail("size > 40.0f ? 40.0f : size", _SHIFT),
        *_SCALE,
        _LESS_ONE,
        "return copysignf(less_one / (less_one + 2.0f), x);",
    ]
    return guarded(fast, "tanh", DType.FLOAT32)


def sinh_body() -> list[str]:
    """Return `sinh(x)` from the exponential of `abs(x)`, less one."""
    fast = [
        "float size = fabsf(x);",
        *_tail("size > 91.0f ? 91.0f : size", _SHIFT_TWICE),
        *_SCALES,
        *_HALF,
        "half *= 0.5f * second.value;",
        "float rest = half > 0x1p30f ? 0.5f : half / fmaf(2.0f, half, 1.0f);",
        "return copysignf(half + rest, x);",
    ]
    return guarded(fast, "sinh", DType.FLOAT32)


def cosh_body() -> list[str]:
    """Return `cosh(x)` from the exponential of `abs(x)`."""
    fast = [
        "float size = fabsf(x);",
        *_tail("size > 91.0f ? 91.0f : size", _SHIFT_TWICE),
        *_SCALES,
        "float half = (1.0f + tail) * first.value * (0.5f * second.value);",
        "return half + 0.25f / half;",
    ]
    return guarded(fast, "cosh", DType.FLOAT32)


def _tail(argument: str, shift: str) -> list[str]:
    """Declare `tail` and `shifted`: `exp(argument)` is `1 + tail` times a power of two."""
    series = f"fmaf(r * r, {horner_float('r', EXP_FLOAT)}, r)"
    return [*_reduced(argument, shift), f"float tail = {series};"]


def _reduced(argument: str, shift: str) -> list[str]:
    """Declare `r` and `shifted`: `exp(argument)` is `exp(r)` times a power of two."""
    return [
        f"float y = {argument};",
        f"float shifted = fmaf(y, {_LOG2_E}, {shift});",
        f"float whole = shifted - {shift};",
        f"float near = fmaf(-whole, {_LN2_HIGH}, y);",
        f"float r = fmaf(-whole, {_LN2_LOW}, near);",
    ]
