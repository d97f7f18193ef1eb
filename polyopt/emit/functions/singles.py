"""Exponentials, logarithms, hyperbolic and error functions of float32, computed in float32.

In: nothing.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, 1.5 for `erf` and logarithms to the bases 2 and 10, 2.5
for hyperbolic functions and `expm1`.
A register has twice as many lanes of floats as of doubles, and nothing is converted.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import ERF_EXPONENT_FLOAT, EXP2_FLOAT, EXP_FLOAT, LOG_FLOAT
from polyopt.emit.functions.text import horner_float

_LOG2_E = "0x1.715476p0f"
_LN2 = ("0x1.62e4p-1f", "0x1.7f7d1cp-20f")  # times k exact
_LOG10_2 = ("0x1.3442p-2f", "-0x1.95ec1p-19f")
_LOG2 = ("0x1.715476p0f", "0x1.4ae0cp-26f")
_LOG10 = ("0x1.bcb7b2p-2f", "-0x1.5b235ep-27f")
_SLOPE, _SLOPE_LOW = "0x1.20dd76p0f", "-0x1.f7ac92p-25f"  # 2 / sqrt(pi)
_TWICE_LOG2_E, _HALF_LN2 = "0x1.715476p1f", "0x1.62e43p-2f"
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
    return [
        *_reduced("x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x", _SHIFT_TWICE),
        f"float series = fmaf(r, {horner_float('r', ('1.0', *EXP_FLOAT))}, 1.0f);",
        *_SCALES,
        "return series * first.value * second.value;",
    ]


def exp2_body() -> list[str]:
    """Return `exp2(x)`."""
    log2, *rest = EXP2_FLOAT
    return [
        "float y = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;",
        f"float shifted = y + {_SHIFT_TWICE};",
        f"float r = y - (shifted - {_SHIFT_TWICE});",
        f"float tail = fmaf(r, {log2}f, r * {horner_float('r', tuple(rest))});",
        *_SCALES,
        "return (1.0f + tail) * first.value * second.value;",
    ]


def expm1_body() -> list[str]:
    """Return `exp(x) - 1`."""
    return [
        *_tail("x < -40.0f ? -40.0f : x > 89.0f ? 89.0f : x", _SHIFT_TWICE),
        *_SCALES,
        *_HALF,
        "return x == 0.0f ? x : half * second.value;",
    ]


def tanh_body() -> list[str]:
    """Return `tanh(x)` from the exponential of `2 * x`, the argument of the series halved.

    The error of the logarithm of two in one part counts least where its multiple is largest.
    """
    return [
        "float size = fabsf(x);",
        "float y = size > 20.0f ? 20.0f : size;",
        f"float shifted = fmaf(y, {_TWICE_LOG2_E}, {_SHIFT});",
        f"float r = fmaf({_SHIFT} - shifted, {_HALF_LN2}, y);",
        f"float tail = fmaf(r * r, {horner_float('r', _of_twice(EXP_FLOAT))}, r + r);",
        *_SCALE,
        _LESS_ONE,
        "return copysignf(less_one / (less_one + 2.0f), x);",
    ]


def sinh_body() -> list[str]:
    """Return `sinh(x)` from the exponential of `abs(x)`, less one."""
    return [
        "float size = fabsf(x);",
        *_tail("size > 91.0f ? 91.0f : size", _SHIFT_TWICE),
        *_SCALES,
        *_HALF,
        "half *= 0.5f * second.value;",
        "float rest = half > 0x1p30f ? 0.5f : half / fmaf(2.0f, half, 1.0f);",
        "return copysignf(half + rest, x);",
    ]


def cosh_body() -> list[str]:
    """Return `cosh(x)` from the exponential of `abs(x)`."""
    return [
        "float size = fabsf(x);",
        *_tail("size > 91.0f ? 91.0f : size", _SHIFT_TWICE),
        *_SCALES,
        "float half = (1.0f + tail) * first.value * (0.5f * second.value);",
        "return half + 0.25f / half;",
    ]


def log_body() -> list[str]:
    """Return `log(x)`."""
    return [*_split("x"), *_logarithm(), *_selected("logarithm")]


def log1p_body() -> list[str]:
    """Return `log(1 + x)`."""
    return [
        "float whole = 1.0f + x;",
        "float part = whole - 1.0f;",
        "float lost = (1.0f - (whole - part)) + (x - part);",  # whole + lost is 1 + x
        *_mantissa("whole", "127.0f"),
        "union { float value; uint32_t bits; } unit;",
        # twice the reciprocal of the power of two, which may be 2**128
        "unit.bits = (UINT32_C(255) << 23) - (moved & (UINT32_C(0xff) << 23));",
        # what is lost over the sum, to a tenth
        "float correction = lost * unit.value * fmaf(f, fmaf(0.5f, f, -0.5f), 0.5f);",
        *_logarithm("correction"),
        "float rare = x < -1.0f ? NAN : x;",
        "rare = x == -1.0f ? -INFINITY : rare;",
        "return x > -1.0f && x < INFINITY && x != 0.0f ? logarithm : rare;",
    ]


def log2_body() -> list[str]:
    """Return `log2(x)`."""
    return [*_to_base(_LOG2), *_selected("found")]


def log10_body() -> list[str]:
    """Return `log10(x)`."""
    return [*_to_base(_LOG10, _LOG10_2), *_selected("found")]


def erf_body() -> list[str]:
    """Return `erf(x)`: the exponential of a polynomial, less one."""
    return [
        "float y = fabsf(x);",
        f"float slope = fmaf(y, {horner_float('y', ERF_EXPONENT_FLOAT)}, {_SLOPE_LOW});",
        f"float exponent = fmaf(-y, {_SLOPE}, -y * slope);",
        f"float missed = fmaf(-y, slope, fmaf(-y, {_SLOPE}, -exponent));",
        f"float shifted = fmaf(exponent, {_LOG2_E}, {_SHIFT});",
        f"float whole = shifted - {_SHIFT};",
        f"float near = fmaf(-whole, {_LN2_HIGH}, exponent);",
        f"float low = fmaf(-whole, {_LN2_LOW}, missed);",
        "float r = near + low;",
        f"float tail = near + fmaf(r * r, {horner_float('r', EXP_FLOAT)}, low);",
        *_SCALE,
        "float found = fmaf(-tail, scale.value, 1.0f - scale.value);",
        "return copysignf(y > 4.0f ? 1.0f : found, x);",
    ]


def _split(argument: str) -> list[str]:
    """Declare `k` and `f`, for which the argument is 2**k * (1 + f), near one."""
    return [
        # both choices side by side: gcc makes what is between them twice
        f"float scaled = {argument} < 0x1p-126f ? {argument} * 0x1p25f : {argument};",
        f"float bias = {argument} < 0x1p-126f ? 152.0f : 127.0f;",
        *_mantissa("scaled", "bias"),
    ]


def _mantissa(argument: str, bias: str) -> list[str]:
    return [
        "union { float value; uint32_t bits; } seen, mantissa;",
        f"seen.value = {argument};",
        # the exponent grows by one from the square root of 2 on
        "uint32_t moved = seen.bits + (UINT32_C(0x3f800000) - 0x3f3504f3);",
        "mantissa.bits = (moved & UINT32_C(0x7fffff)) + UINT32_C(0x3f3504f3);",
        f"float k = (float)(int32_t)(moved >> 23) - {bias};",
        "float f = mantissa.value - 1.0f;",
    ]


def _logarithm(rest: str = "") -> list[str]:
    """Declare `logarithm`, and `low`, for which log(1 + f) is f + low."""
    high, low = _LN2
    small = f"fmaf(k, {low}, low)"
    return [
        f"float low = f * f * fmaf(f, {horner_float('f', LOG_FLOAT)}, -0.5f);",
        f"float whole_part = k * {high};",
        "float sum = whole_part + f;",
        f"float missed = ((whole_part - sum) + f) + {small};",
        f"float logarithm = sum + {f'(missed + {rest})' if rest else 'missed'};",
    ]


def _to_base(base: tuple[str, str], whole: tuple[str, str] | None = None) -> list[str]:
    """Declare `found`, the logarithm times `base` and `k` times `whole`, both in two parts."""
    high, low = base
    exponent = "k" if whole is None else f"k * {whole[0]}"
    rest = "missed" if whole is None else f"fmaf(k, {whole[1]}, missed)"
    return [
        *_split("x"),
        f"float low = f * f * fmaf(f, {horner_float('f', LOG_FLOAT)}, -0.5f);",
        f"float exponent = {exponent};",
        f"float sum = fmaf(f, {high}, exponent);",
        f"float missed = fmaf(f, {high}, exponent - sum);",
        f"missed = fmaf(low, {high}, fmaf(f, {low}, {rest}));",
        "float found = sum + missed;",
    ]


def _selected(found: str) -> list[str]:
    """Return `found`, or what the logarithm is where it is none."""
    return [
        "float rare = x < 0.0f ? NAN : x;",
        "rare = x == 0.0f ? -INFINITY : rare;",
        f"return x > 0.0f && x < INFINITY ? {found} : rare;",
    ]


def _of_twice(series: tuple[str, ...]) -> tuple[str, ...]:
    """Return the coefficients, from that of the square on, for half the argument."""
    return tuple((float.fromhex(c) * 2.0**k).hex() for k, c in enumerate(series, start=2))


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


SINGLES = {
    "exp": exp_body,
    "exp2": exp2_body,
    "expm1": expm1_body,
    "sinh": sinh_body,
    "cosh": cosh_body,
    "tanh": tanh_body,
    "log": log_body,
    "log2": log2_body,
    "log10": log10_body,
    "log1p": log1p_body,
    "erf": erf_body,
}
