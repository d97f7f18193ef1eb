"""Logarithms to the bases e, 2 and 10.

In: the dtype.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, two for `log1p` of doubles.
A number is 2**k * m with m near one; with s = (m - 1) / (m + 1), log(m) is odd in s.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.emit.functions.coefficients import LOG, LOG_SINGLE
from polyopt.emit.functions.text import guarded, horner, seen_as_bits
from polyopt.ir.types import DType

LN2_HIGH, LN2_LOW = "0x1.62e42fefa2000p-1", "0x1.9ef35793c7673p-41"  # times k exact
_LN2 = "0x1.62e42fefa39efp-1"


@dataclass(frozen=True, slots=True)
class _Base:
    """Logarithms of e and of 2, each in two parts; products with the first are exact."""

    e: tuple[str, str]
    two: tuple[str, str]
    of_e: str


_BASES = {
    "log2": _Base(
        ("0x1.71547652p0", "0x1.705fc2eefa200p-33"), ("1.0", "0.0"), "0x1.71547652b82fep0"
    ),
    "log10": _Base(
        ("0x1.bcb7b152p-2", "0x1.b9438ca9aadd5p-36"),
        ("0x1.34413509f6p-2", "0x1.9fef311f12b36p-42"),
        "0x1.bcb7b1526e50ep-2",
    ),
}


def log_body(dtype: DType) -> list[str]:
    """Return `log(x)`."""
    if dtype is DType.FLOAT32:
        return guarded([*_single(), f"return {_selected('float', 'logarithm')};"], "log", dtype)
    fast = [
        *_split("x"),
        *_series(),
        f"double low = fma(s, square + rest, k * {LN2_LOW});",
        f"double logarithm = k * {LN2_HIGH} - ((square - low) - f);",
        f"return {_selected('double', 'logarithm')};",
    ]
    return guarded(fast, "log", dtype)


def log2_body(dtype: DType) -> list[str]:
    """Return `log2(x)`."""
    return _to_base("log2", dtype)


def log10_body(dtype: DType) -> list[str]:
    """Return `log10(x)`."""
    return _to_base("log10", dtype)


def log1p_body(dtype: DType) -> list[str]:
    """Return `log(1 + x)`."""
    if dtype is DType.FLOAT32:
        fast = [
            *ratio("1.0 + (double)x", "whole"),
            "f = k == 0.0 ? (double)x : f;",
            "double s = f / (2.0 + f);",
            *_odd(),
            "float found = whole < INFINITY ? (float)logarithm : x;",
            "found = whole > 0.0 ? found : whole == 0.0 ? -INFINITY : NAN;",
            "return x == 0.0f ? x : found;",
        ]
        return guarded(fast, "log1p", dtype)
    fast = [
        "double sum = 1.0 + x;",
        "double part = sum - 1.0;",
        "double lost = (1.0 - (sum - part)) + (x - part);",  # sum + lost is 1 + x
        *_split("sum"),
        "f = k == 0.0 ? x : f;",
        "double correction = k == 0.0 || k > 60.0 ? 0.0 : lost / sum;",
        *_series(),
        f"double low = fma(s, square + rest, fma(k, {LN2_LOW}, correction));",
        f"double logarithm = k * {LN2_HIGH} - ((square - low) - f);",
        "return x > -0x1p-54 && x < 0x1p-54 ? x : sum > 0.0 ? (sum < INFINITY ? logarithm : sum)"
        " : sum == 0.0 ? -INFINITY : NAN;",
    ]
    return guarded(fast, "log1p", dtype)


def _to_base(name: str, dtype: DType) -> list[str]:
    base = _BASES[name]
    whole, rest = base.two
    if dtype is DType.FLOAT32:
        fast = [
            *_single("0.0"),
            f"double found = fma(k, {whole}, fma(k, {rest}, logarithm * {base.of_e}));",
            f"return {_selected('float', 'found')};",
        ]
        return guarded(fast, name, dtype)
    high, low = base.e
    fast = [
        *_split("x"),
        *_series(),
        *seen_as_bits("top", "f - square"),
        "top.bits &= ~UINT64_C(0xffffffff);",
        "double near = top.value;",
        "double far = fma(s, square + rest, (f - near) - square);",
        f"double first = near * {high};",
        f"double last = fma(far, {high}, fma(near + far, {low}, k * {rest}));",
        f"double exponent = k * {whole};",
        "double sum = exponent + first;",
        "double found = sum + (last + ((exponent - sum) + first));",
        f"return {_selected('double', 'found')};",
    ]
    return guarded(fast, name, dtype)


def _split(argument: str) -> list[str]:
    """Declare `k` and `f`, for which the argument is 2**k * (1 + f), near one."""
    return [
        f"double scaled = {argument} < 0x1p-1022 ? {argument} * 0x1p54 : {argument};",
        *seen_as_bits("whole", "scaled"),
        # the exponent grows by one from the square root of 2 on
        "uint64_t moved = whole.bits + (UINT64_C(0x3ff0000000000000) - 0x3fe6a09e667f3bcd);",
        "union { double value; uint64_t bits; } exponent_of, mantissa;",
        "exponent_of.bits = (moved >> 52) | UINT64_C(0x4330000000000000);",
        "mantissa.bits = (moved & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);",
        f"double k = exponent_of.value - ({argument} < 0x1p-1022 ? 0x1p52 + 1077.0"
        " : 0x1p52 + 1023.0);",
        "double f = mantissa.value - 1.0;",
    ]


def _series() -> list[str]:
    """Declare `s`, `square` and `rest`: log(1 + f) is f - (square - s * (square + rest))."""
    return [
        "double s = f / (2.0 + f);",
        "double z = s * s;",
        "double square = 0.5 * f * f;",
        f"double rest = z * {horner('z', LOG)};",
    ]


def ratio(argument: str, name: str) -> list[str]:
    """Declare `k` and `f` for a float as a double, where nothing is subnormal."""
    return [
        f"double {name} = {argument};",
        *seen_as_bits("bits_of", name),
        "uint64_t moved = bits_of.bits + (UINT64_C(0x3ff0000000000000) - 0x3fe6a09e667f3bcd);",
        "union { double value; uint64_t bits; } exponent_of, mantissa;",
        "exponent_of.bits = (moved >> 52) | UINT64_C(0x4330000000000000);",
        "mantissa.bits = (moved & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);",
        "double k = exponent_of.value - (0x1p52 + 1023.0);",
        "double f = mantissa.value - 1.0;",
    ]


def _odd(ln2: str = _LN2) -> list[str]:
    return [
        "double z = s * s;",
        f"double odd = fma(s * z, {horner('z', LOG_SINGLE)}, 2.0 * s);",
        f"double logarithm = fma(k, {ln2}, odd);",
    ]


def _single(ln2: str = _LN2) -> list[str]:
    """Declare `k` and `logarithm`, accurate for a float."""
    return [*ratio("x", "whole"), "double s = f / (2.0 + f);", *_odd(ln2)]


def _selected(kind: str, found: str) -> str:
    """Return the text of `found`, or of what the logarithm is where it is none."""
    value = found if kind == "double" else f"(float){found}"
    return f"x > 0 ? (x < INFINITY ? {value} : x) : x == 0 ? -INFINITY : NAN"
