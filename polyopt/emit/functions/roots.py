"""Cube roots, hypotenuses and powers to constants.

In: the dtype.  Out: the lines of a C function body, for `x`, or for `y` and `x`.
Errors: below 1.5 units in the last place, four for powers by `products_body`.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import CBRT
from polyopt.emit.functions.text import horner, seen_as_bits
from polyopt.ir.types import DType

_NEARER = "guess = fma(guess * (1.0 / 3.0), fma(-m * guess, guess * guess, 1.0), guess);"
_LEFT = (
    "double square = root * root;",
    "double left = fma(-square, root, m) - fma(root, root, -square) * root;",
    "root = fma(left * (1.0 / 3.0), guess * guess, root);",
)


def cbrt_body(dtype: DType) -> list[str]:
    """Return `cbrt(x)`: Newton's method for the reciprocal, then one step with what is left."""
    is_double = dtype is DType.FLOAT64
    sign, final = ("copysign", "") if is_double else ("copysignf", "(float)")
    small = "size < 0x1p-1022" if is_double else "false"
    return [
        "double size = fabs((double)x);",
        f"double scaled = {small} ? size * 0x1p54 : size;",
        *seen_as_bits("whole", "scaled"),
        "union { double value; uint64_t bits; } exponent_of, mantissa, unit;",
        "exponent_of.bits = (whole.bits >> 52) | UINT64_C(0x4330000000000000);",
        "mantissa.bits = (whole.bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);",
        f"double exponent = exponent_of.value - ({small} ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0);",
        "double third = rint(exponent * (1.0 / 3.0));",
        "double rest = fma(-3.0, third, exponent);",
        "double m = mantissa.value;",
        f"double guess = {horner('m', CBRT)};",
        "guess *= rest > 0.0 ? 0x1.965fea53d6e3dp-1 : rest < 0.0 ? 0x1.428a2f98d728bp0 : 1.0;",
        "m = rest > 0.0 ? 2.0 * m : rest < 0.0 ? 0.5 * m : m;",
        *[_NEARER] * (2 if is_double else 1),
        "double root = m * guess * guess;",
        *(_LEFT if is_double else ()),
        *seen_as_bits("third_of", "third + (0x1.8p52 + 1023.0)"),
        "unit.bits = third_of.bits << 52;",
        f"return size == 0.0 || !(size < INFINITY) ? x : {sign}({final}(root * unit.value), x);",
    ]


def hypot_body(dtype: DType) -> list[str]:
    """Return `hypot(y, x)`."""
    if dtype is DType.FLOAT32:
        return [
            "double sum = fma((double)x, x, (double)y * y);",
            "bool is_far = fabsf(x) == INFINITY || fabsf(y) == INFINITY;",
            "return is_far ? INFINITY : (float)sqrt(sum);",
        ]
    return [
        "double high = fabs(y);",
        "double wide = fabs(x);",
        "double larger = high > wide ? high : wide;",
        "double smaller = high > wide ? wide : high;",
        "double unit = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.0;",
        "double back = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-400 ? 0x1p-600 : 1.0;",
        "double a = larger * unit;",
        "double b = smaller * unit;",
        "double sum = fma(a, a, b * b);",
        "double length = sqrt(sum) * back;",
        "return high == INFINITY || wide == INFINITY ? INFINITY : length;",
    ]


def cube_body(dtype: DType) -> list[str]:
    """Return `pow(x, 3)`, rounded once but for rare cases, as `pow` does."""
    if dtype is DType.FLOAT32:
        return [
            "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)",
            "float square = x * x;",
            "float lost = fmaf(x, x, -square) * x;",
            "float size = fabsf(x);",
            "return size < 0x1p-40f || size > 0x1p60f ? square * x : fmaf(square, x, lost);",
            "#else",
            "double y = x;",
            "return (float)(y * y * y);",
            "#endif",
        ]
    return [
        "double square = x * x;",
        "double cube = square * x;",
        # what the two roundings lost
        "double rest = fma(square, x, -cube) + fma(x, x, -square) * x;",
        "double size = fabs(cube);",
        "return size > 0x1p-960 && size <= 0x1.fffffffffffffp1023 ? cube + rest : cube;",
    ]


def products_body(dtype: DType) -> list[str]:
    """Return `pow(x, y)` for a constant `y` of `polyopt.ir.powers`, every operation rounded.

    The compiler leaves what the constant asks for.
    """
    t, f = dtype.ctype, "f" if dtype is DType.FLOAT32 else ""
    return [
        "int whole = (int)y;",
        f"bool is_half = y != ({t})whole, is_below = y < 0;",
        # without the sign of zero, which only powers to whole numbers keep
        f"{t} positive = is_half ? x + 0.0{f} : x;",
        f"{t} base = is_below && whole != 0 ? 1.0{f} / positive : positive;",
        f"base = is_half ? base + 0.0{f} : base;",
        "int times = whole < 0 ? -whole : whole;",
        f"{t} square = base * base;",
        f"{t} found = (times & 1) != 0 ? base : 1.0{f};",
        "found = (times & 2) != 0 ? found * square : found;",
        "found = (times & 4) != 0 ? found * (square * square) : found;",
        "if (!is_half)",
        "    return found;",
        f"{t} root = sqrt{f}(base);",
        f"root = is_below && whole == 0 ? 1.0{f} / root : found * root;",
        f"return x == -INFINITY ? (is_below ? 0.0{f} : INFINITY) : root;",
    ]


def precise_body(dtype: DType) -> list[str]:
    """Return `pow(x, y)` for a constant `y` of `polyopt.ir.powers.PRECISE`, rounded once.

    The compiler leaves what the constant asks for.
    """
    if dtype is DType.FLOAT32:
        return [
            "double base = y < 0 ? 1.0 / (double)x : (double)x;",
            "int times = y < 0 ? (int)-y : (int)y;",
            "double square = base * base;",
            "double found = times == 3 ? base : times < 4 ? 1.0 : square * square;",
            "found = times == 5 ? found * base : times == 4 ? found : found * square;",
            "return (float)found;",
        ]
    return [
        "double inverse = 1.0 / x;",
        "int times = y < 0 ? (int)-y : (int)y;",
        "double base = y < 0 ? inverse : x;",
        "bool is_small = fabs(base) < 0x1p-150;",
        "base = is_small ? base * 0x1p150 : base;",
        "double unit = is_small ? 0x1p-150 : 1.0;",
        # the numbers less their roundings
        "double lost = y < 0 ? fma(-x, inverse, 1.0) * base : 0.0;",
        "double square = base * base;",
        "double lost_2 = fma(base, base, -square) + 2.0 * base * lost;",
        "double fourth = square * square;",
        "double lost_4 = fma(square, square, -fourth) + 2.0 * square * lost_2;",
        "double high = times < 4 ? square : fourth;",
        "double low = times < 4 ? lost_2 : lost_4;",
        "double factor = times == 6 ? square : base;",
        "double factor_low = times == 6 ? lost_2 : lost;",
        "bool is_whole = times == 2 || times == 4;",
        "double product = is_whole ? high : high * factor;",
        "double rest = fma(high, factor, -product) + fma(high, factor_low, low * factor);",
        "rest = is_whole ? low : rest;",
        "double size = fabs(product);",
        "double found = size > 0.0 && size < INFINITY ? product + rest : product;",
        "double scale = unit * unit;",
        "scale = times < 3 ? scale : times == 3 ? scale * unit : scale * scale;",
        "scale = times == 5 ? scale * unit : times == 6 ? scale * (unit * unit) : scale;",
        "return found * scale;",
    ]


BODIES = {
    "cbrt": cbrt_body,
    "hypot": hypot_body,
    "cube": cube_body,
    "products": products_body,
    "precise": precise_body,
}
