"""Inverse trigonometric functions and hypotenuses of float32, computed in float32.

In: nothing.  Out: the lines of a C function body, for the argument `x`, or `y` and `x`.
Errors: below two units in the last place.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import ASIN_FLOAT, ATAN_FLOAT
from polyopt.emit.functions.text import horner_float

_PI, _PI_LOW = "0x1.921fb6p1f", "-0x1.777a5cp-24f"
_HALF_PI, _HALF_PI_LOW = "0x1.921fb6p0f", "-0x1.777a5cp-25f"


def asin_body() -> list[str]:
    """Return `asin(x)`: from one half on, by the sine of half the complement."""
    return [
        *_half_angle(),
        f"float turned = {_HALF_PI} - (2.0f * root - fmaf(-2.0f, bend, {_HALF_PI_LOW}));",
        "float angle = size > 0.5f ? turned : size + bend;",
        "return copysignf(angle, x);",
    ]


def acos_body() -> list[str]:
    """Return `acos(x)`."""
    return [
        *_half_angle(),
        "float twice = 2.0f * (root + bend);",
        f"float turned = {_PI} - (2.0f * root - fmaf(-2.0f, bend, {_PI_LOW}));",
        f"float middle = {_HALF_PI} - (x - ({_HALF_PI_LOW} - copysignf(bend, x)));",
        "float far = x < 0.0f ? turned : twice;",
        "return size > 0.5f ? far : middle;",
    ]


def atan_body() -> list[str]:
    """Return `atan(x)`, beyond one that of the reciprocal, turned."""
    return [
        "float size = fabsf(x);",
        "float inverse = 1.0f / size;",
        "float t = size > 1.0f ? inverse : size;",
        *_arc(),
        f"float turned = {_HALF_PI} - (t - ({_HALF_PI_LOW} - bend));",
        "float angle = size > 1.0f ? turned : t + bend;",
        "return copysignf(angle, x);",
    ]


def atan2_body() -> list[str]:
    """Return `atan2(y, x)`: the arc tangent of the smaller over the larger, turned."""
    return [
        "float high = fabsf(y);",
        "float wide = fabsf(x);",
        "bool is_steep = high > wide;",
        "float larger = is_steep ? high : wide;",
        "float smaller = is_steep ? wide : high;",
        "float quotient = smaller / larger;",
        # of zeros, of infinities; of numbers that are not, it stays one
        "float t = smaller != larger ? quotient : larger > 0.0f ? 1.0f : 0.0f;",
        "t = x == x && y == y ? t : NAN;",
        *_arc(),
        # the angle is turned by a multiple of a quarter turn, once
        "bool is_left = copysignf(1.0f, x) < 0.0f;",
        "bool is_mirrored = is_steep != is_left;",
        "float near = is_mirrored ? -t : t;",
        "float rest = is_mirrored ? -bend : bend;",
        f"float turn = is_steep ? {_HALF_PI} : is_left ? {_PI} : 0.0f;",
        f"float turn_low = is_steep ? {_HALF_PI_LOW} : is_left ? {_PI_LOW} : 0.0f;",
        "return copysignf(turn + (near + (rest + turn_low)), y);",
    ]


def _half_angle() -> list[str]:
    """Declare `root`, whose arc sine is `root + bend`: `size`, or the sine of half the rest."""
    return [
        "float size = fabsf(x);",
        "float half = 0.5f * (1.0f - size);",
        "float half_root = sqrtf(half);",
        "float z = size > 0.5f ? half : size * size;",
        "float root = size > 0.5f ? half_root : size;",
        f"float bend = root * z * {horner_float('z', ASIN_FLOAT)};",
    ]


def _arc() -> list[str]:
    """Declare `bend`, the arc tangent of `t` less `t`."""
    return ["float z = t * t;", f"float bend = t * z * {horner_float('z', ATAN_FLOAT)};"]


SINGLES = {
    "asin": asin_body,
    "acos": acos_body,
    "atan": atan_body,
    "atan2": atan2_body,
}
