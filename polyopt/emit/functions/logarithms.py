"""Logarithms to the bases e, 2 and 10.

In: nothing.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, 1.5 to the bases 2 and 10.  float32: `singles.py`.
A number is 2**k * m with m near one; with s = (m - 1) / (m + 1), log(m) is odd in s.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import LOG
from polyopt.emit.functions.text import halved, seen_as_bits

LN2_HIGH, LN2_LOW = "0x1.62e42fefa2000p-1", "0x1.9ef35793c7673p-41"  # times k exact


_LOG2 = ("0x1.71547652b82fep0", "0x1.777d0ffda0d24p-56")
_LOG10 = ("0x1.bcb7b1526e50ep-2", "0x1.95355baaafad3p-57")
_LOG10_2 = ("0x1.34413509f6p-2", "0x1.9fef311f12b36p-42")  # times k exact


def log_body() -> list[str]:
    """Return `log(x)`."""
    return [
        *_split("x"),
        *_series(),
        f"double low = fma(s, square + rest, k * {LN2_LOW});",
        f"double logarithm = k * {LN2_HIGH} - ((square - low) - f);",
        *_selected("logarithm"),
    ]


def log2_body() -> list[str]:
    """Return `log2(x)`."""
    return [*_to_base(_LOG2), *_selected("found")]


def log10_body() -> list[str]:
    """Return `log10(x)`."""
    return [*_to_base(_LOG10, _LOG10_2), *_selected("found")]


def log1p_body() -> list[str]:
    """Return `log(1 + x)`."""
    return [
        "double sum = 1.0 + x;",
        "double part = sum - 1.0;",
        "double lost = (1.0 - (sum - part)) + (x - part);",  # sum + lost is 1 + x
        *_mantissa("sum"),
        "union { double value; uint64_t bits; } unit;",
        # twice the reciprocal of the power of two, which may be 2**1024
        "unit.bits = (UINT64_C(2047) << 52) - (moved & (UINT64_C(0x7ff) << 52));",
        # what is lost over the sum, to a tenth
        "double correction = lost * unit.value * fma(f, fma(0.5, f, -0.5), 0.5);",
        *_series(),
        f"double low = fma(s, square + rest, fma(k, {LN2_LOW}, correction));",
        f"double logarithm = k * {LN2_HIGH} - ((square - low) - f);",
        "double rare = x < -1.0 ? NAN : x;",
        "rare = x == -1.0 ? -INFINITY : rare;",
        "return x > -1.0 && x < INFINITY && x != 0.0 ? logarithm : rare;",
    ]


def _to_base(base: tuple[str, str], whole: tuple[str, str] | None = None) -> list[str]:
    """Declare `found`, the logarithm times `base` and `k` times `whole`, both in two parts."""
    high, low = base
    exponent = "k" if whole is None else f"k * {whole[0]}"
    rest = "missed" if whole is None else f"fma(k, {whole[1]}, missed)"
    return [
        *_split("x"),
        *_series(),
        "double low = fma(s, square + rest, -square);",
        f"double exponent = {exponent};",
        f"double sum = fma(f, {high}, exponent);",
        f"double missed = fma(f, {high}, exponent - sum);",
        f"missed = fma(low, {high}, fma(f, {low}, {rest}));",
        "double found = sum + missed;",
    ]


def _split(argument: str) -> list[str]:
    """Declare `k` and `f`, for which the argument is 2**k * (1 + f), near one."""
    return [
        # both choices side by side: gcc makes what is between them twice
        f"double scaled = {argument} < 0x1p-1022 ? {argument} * 0x1p54 : {argument};",
        f"double bias = {argument} < 0x1p-1022 ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0;",
        *_mantissa("scaled", "bias"),
    ]


def _mantissa(argument: str, bias: str = "(0x1p52 + 1023.0)") -> list[str]:
    return [
        *seen_as_bits("all", argument),
        # the exponent grows by one from the square root of 2 on
        "uint64_t moved = all.bits + (UINT64_C(0x3ff0000000000000) - 0x3fe6a09e667f3bcd);",
        "union { double value; uint64_t bits; } exponent_of, mantissa;",
        "exponent_of.bits = (moved >> 52) | UINT64_C(0x4330000000000000);",
        "mantissa.bits = (moved & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);",
        f"double k = exponent_of.value - {bias};",
        "double f = mantissa.value - 1.0;",
    ]


def _series() -> list[str]:
    """Declare `s`, `square` and `rest`: log(1 + f) is f - (square - s * (square + rest))."""
    return [
        "double s = f / (2.0 + f);",
        "double z = s * s;",
        "double square = 0.5 * f * f;",
        f"double rest = z * {halved('z', 'z * z', LOG)};",
    ]


def ratio(argument: str, name: str) -> list[str]:
    """Declare `k` and `f` for a float as a double, where nothing is subnormal."""
    return [f"double {name} = {argument};", *_mantissa(name)]


def _selected(found: str) -> list[str]:
    """Return `found`, or what the logarithm is where it is none."""
    return [
        "double rare = x < 0.0 ? NAN : x;",
        "rare = x == 0.0 ? -INFINITY : rare;",
        f"return x > 0.0 && x < INFINITY ? {found} : rare;",
    ]


DOUBLES = {
    "log": log_body,
    "log2": log2_body,
    "log10": log10_body,
    "log1p": log1p_body,
}
