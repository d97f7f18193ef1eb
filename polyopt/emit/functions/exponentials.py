"""Exponentials and hyperbolic functions.

In: nothing.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, 2.5 for hyperbolic functions.  float32: `singles.py`.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import EXP, EXP2
from polyopt.emit.functions.text import halved, seen_as_bits

LOG2_E = "0x1.71547652b82fep0"
LN2 = "0x1.62e42fefa39efp-1"
LN2_HIGH = "0x1.62e42fefa3800p-1"  # times k, and the argument less that, exact
LN2_LOW = "0x1.ef35793c76730p-45"

# Added to a small double, these round it to an integer k.  The sum's lowest bits are k and the bias
# of an exponent: once, or twice where the power of two is made of two factors.
SHIFT_ONCE = "0x1.80000000003ffp52"
SHIFT_TWICE = "0x1.80000000007fep52"


def exp_body() -> list[str]:
    """Return `exp(x)`."""
    return [
        *tail("x", SHIFT_TWICE),
        *SCALES,
        "double power = fma(tail, first, first) * second;",
        "return x < -750.0 ? 0.0 : x > 720.0 ? INFINITY : power;",
    ]


def exp2_body() -> list[str]:
    """Return `exp2(x)`."""
    return [
        f"double shifted = x + {SHIFT_TWICE};",
        f"double r = x - (shifted - {SHIFT_TWICE});",
        "double rr = r * r;",
        *SCALES,
        f"double power = fma(r * first, {halved('r', 'rr', EXP2)}, first) * second;",
        "return x < -1100.0 ? 0.0 : x > 1030.0 ? INFINITY : power;",
    ]


def expm1_body() -> list[str]:
    """Return `exp(x) - 1`."""
    return [
        *tail("x", SHIFT_TWICE),
        *SCALES,
        *_INVERSE,
        "double less_one = fma(tail, first, first - inverse) * second;",
        "less_one = x > 720.0 ? INFINITY : x == 0.0 ? x : less_one;",
        "return x < -60.0 ? -1.0 : less_one;",
    ]


def tanh_body() -> list[str]:
    """Return `tanh(x)` from the exponential of `2 * x`."""
    return [
        "double size = 2.0 * fabs(x);",
        *tail("size", SHIFT_ONCE),
        *SCALE,
        "double less_one = fma(tail, scale, scale - 1.0);",
        "return copysign(size > 50.0 ? 1.0 : less_one / (less_one + 2.0), x);",
    ]


def sinh_body() -> list[str]:
    """Return `sinh(x)` from the exponential of `abs(x)`, less one."""
    return [
        "double size = fabs(x);",
        *tail("size", SHIFT_TWICE),
        *SCALES,
        *_INVERSE,
        "double half = fma(tail, first, first - inverse) * (0.5 * second);",
        "double sum = half + (half > 0x1p60 ? 0.5 : half / (2.0 * half + 1.0));",
        "return copysign(size > 720.0 ? INFINITY : sum, x);",
    ]


def cosh_body() -> list[str]:
    """Return `cosh(x)` from the exponential of `abs(x)`."""
    return [
        "double size = fabs(x);",
        *tail("size", SHIFT_TWICE),
        *SCALES,
        "double half = fma(tail, first, first) * (0.5 * second);",
        "return size > 720.0 ? INFINITY : half + 0.25 / half;",
    ]


def tail(argument: str, shift: str, rest: str = "0.0") -> list[str]:
    """Declare `tail` and `shifted`: `exp(argument)` is `1 + tail` times a power of two.

    With `rest`, a small number, it is the exponential of the sum.
    """
    return [
        f"double shifted = fma({argument}, {LOG2_E}, {shift});",
        f"double whole = shifted - {shift};",
        f"double near = fma(-whole, {LN2_HIGH}, {argument});",
        f"double low = fma(-whole, {LN2_LOW}, {rest});",
        "double r = near + low;",
        "double rr = r * r;",
        f"double tail = near + fma(rr, {halved('r', 'rr', EXP)}, low);",
    ]


SCALE = (
    *seen_as_bits("power_of_two", "shifted"),
    "power_of_two.bits <<= 52;",
    "double scale = power_of_two.value;",
)
"""The power of two that `SHIFT_ONCE` is for."""
SCALES = (
    *seen_as_bits("from", "shifted"),
    "union { double value; uint64_t bits; } one, other;",
    "one.bits = from.bits >> 1;",
    "other.bits = (from.bits - one.bits) << 52;",
    "one.bits <<= 52;",
    "double first = one.value;",
    "double second = other.value;",
)
"""Two powers of two, for `SHIFT_TWICE`; a single one would overflow or underflow too early."""
_INVERSE = (
    "union { double value; uint64_t bits; } turned;",
    "turned.bits = (UINT64_C(2046) << 52) - other.bits;",
    "double inverse = turned.value;",
)


DOUBLES = {
    "exp": exp_body,
    "exp2": exp2_body,
    "expm1": expm1_body,
    "sinh": sinh_body,
    "cosh": cosh_body,
    "tanh": tanh_body,
}
