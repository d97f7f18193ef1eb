"""Exponentials and hyperbolic functions.

In: the dtype.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, 2.5 for hyperbolic functions.  float32: `singles`.
"""

from __future__ import annotations

from polyopt.emit.functions import singles
from polyopt.emit.functions.coefficients import EXP, EXP2
from polyopt.emit.functions.text import SHIFT, guarded, horner, seen_as_bits
from polyopt.ir.types import DType

LOG2_E = "0x1.71547652b82fep0"
LN2 = "0x1.62e42fefa39efp-1"
LN2_HIGH = "0x1.62e42fefa39efp-1"
LN2_LOW = "0x1.abc9e3b39803fp-56"


def exp_body(dtype: DType) -> list[str]:
    """Return `exp(x)`."""
    if dtype is DType.FLOAT32:
        return singles.exp_body()
    fast = [
        "double y = x < -750.0 ? -750.0 : x > 720.0 ? 720.0 : x;",
        *tail("y"),
        "double series = 1.0 + tail;",
        *scales("shifted"),
        "return series * first * second;",
    ]
    return guarded(fast, "exp", dtype)


def exp2_body(dtype: DType) -> list[str]:
    """Return `exp2(x)`."""
    if dtype is DType.FLOAT32:
        return singles.exp2_body()
    fast = [
        "double y = x < -1100.0 ? -1100.0 : x > 1030.0 ? 1030.0 : x;",
        f"double shifted = y + {SHIFT};",
        f"double r = y - (shifted - {SHIFT});",
        f"double series = fma(r, {horner('r', EXP2)}, 1.0);",
        *scales("shifted"),
        "return series * first * second;",
    ]
    return guarded(fast, "exp2", dtype)


def expm1_body(dtype: DType) -> list[str]:
    """Return `exp(x) - 1`."""
    if dtype is DType.FLOAT32:
        return singles.expm1_body()
    fast = [
        "double y = x < -60.0 ? -60.0 : x > 720.0 ? 720.0 : x;",
        *tail("y"),
        *scales("shifted"),
        *_INVERSE,
        "double less_one = fma(tail, first, first - inverse) * second;",
        "return x > -0x1p-54 && x < 0x1p-54 ? x : less_one;",
    ]
    return guarded(fast, "expm1", dtype)


def tanh_body(dtype: DType) -> list[str]:
    """Return `tanh(x)` from the exponential of `2 * x`."""
    if dtype is DType.FLOAT32:
        return singles.tanh_body()
    fast = [
        "double y = 2.0 * fabs(x);",
        "y = y > 50.0 ? 50.0 : y;",
        *tail("y"),
        *_SCALE,
        "double less_one = fma(tail, scale, scale - 1.0);",
        "return copysign(less_one / (less_one + 2.0), x);",
    ]
    return guarded(fast, "tanh", dtype)


def sinh_body(dtype: DType) -> list[str]:
    """Return `sinh(x)` from the exponential of `abs(x)`, less one."""
    if dtype is DType.FLOAT32:
        return singles.sinh_body()
    fast = [
        "double y = fabs(x);",
        "y = y > 720.0 ? 720.0 : y;",
        *tail("y"),
        *scales("shifted"),
        *_INVERSE,
        "double half = fma(tail, first, first - inverse) * (0.5 * second);",
        "return copysign(half + (half > 0x1p60 ? 0.5 : half / (2.0 * half + 1.0)), x);",
    ]
    return guarded(fast, "sinh", dtype)


def cosh_body(dtype: DType) -> list[str]:
    """Return `cosh(x)` from the exponential of `abs(x)`."""
    if dtype is DType.FLOAT32:
        return singles.cosh_body()
    fast = [
        "double y = fabs(x);",
        "y = y > 720.0 ? 720.0 : y;",
        *tail("y"),
        "double series = 1.0 + tail;",
        *scales("shifted"),
        "double half = series * first * (0.5 * second);",
        "return half + 0.25 / half;",
    ]
    return guarded(fast, "cosh", dtype)


def tail(argument: str, rest: str = "0.0") -> list[str]:
    """Declare `tail` and `shifted`: their exponential less one, times a power of two, is the sum's.

    The sum is that of `argument` and the small `rest`; what rounding takes is kept.
    """
    return [
        f"double shifted = fma({argument}, {LOG2_E}, {SHIFT});",
        f"double whole = shifted - {SHIFT};",
        f"double near = fma(-whole, {LN2_HIGH}, {argument});",
        f"double low = fma(-whole, {LN2_LOW}, {rest});",
        "double r = near + low;",
        f"double tail = r + fma(r * r, {horner('r', EXP)}, (near - r) + low);",
    ]


def scales(shifted: str) -> list[str]:
    """Declare two powers of two; a single one would overflow or underflow too early."""
    return [
        *seen_as_bits("from", shifted),
        "union { double value; uint64_t bits; } one, other;",
        "uint64_t power = ((from.bits & 0xffffu) + 4096) & 0xffffu;",
        "uint64_t part = power / 2;",
        "one.bits = (part - 2048 + 1023) << 52;",
        "other.bits = (power - part - 2048 + 1023) << 52;",
        "double first = one.value;",
        "double second = other.value;",
    ]


_SCALE = (
    *seen_as_bits("power_of_two", "shifted"),
    "power_of_two.bits = (power_of_two.bits + 1023) << 52;",
    "double scale = power_of_two.value;",
)
_INVERSE = (
    "union { double value; uint64_t bits; } turned;",
    "turned.bits = (UINT64_C(2046) << 52) - other.bits;",
    "double inverse = turned.value;",
)
