"""Inverse trigonometric functions.

In: nothing.  Out: the lines of a C function body, for `x`, or for `y` and `x`.
Errors: below two units in the last place.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import ASIN, ATAN
from polyopt.emit.functions.text import halved

_HALF_PI, _HALF_PI_LOW = "0x1.921fb54442d18p0", "0x1.1a62633145c07p-54"
_QUARTER_PI, _QUARTER_PI_LOW = "0x1.921fb54442d18p-1", "0x1.1a62633145c07p-55"
_PI, _PI_LOW = "0x1.921fb54442d18p1", "0x1.1a62633145c07p-53"
_TAN_EIGHTH, _TAN_THREE_EIGHTHS = "0x1.a827999fcef32p-2", "0x1.3504f333f9de6p1"


def asin_body() -> list[str]:
    """Return `asin(x)`: from one half on, by the sine of half the complement."""
    return [
        *_half_angle(),
        f"double turned = {_HALF_PI} - (2.0 * root - fma(-2.0, bend, {_HALF_PI_LOW}));",
        "double angle = is_far ? turned : size + bend;",
        "return copysign(angle, x);",
    ]


def acos_body() -> list[str]:
    """Return `acos(x)`."""
    return [
        *_half_angle(),
        "double twice = 2.0 * (root + bend);",
        f"double turned = {_PI} - (2.0 * root - fma(-2.0, bend, {_PI_LOW}));",
        "double signed_size = wide < 0.0 ? -size : size;",
        f"double low = {_HALF_PI_LOW} - (wide < 0.0 ? -bend : bend);",
        f"double middle = {_HALF_PI} - (signed_size - low);",
        "double angle = !is_far ? middle : wide < 0.0 ? turned : twice;",
        "return angle;",
    ]


def atan_body() -> list[str]:
    """Return `atan(x)`."""
    return [
        "double size = fabs(x);",
        f"bool is_far = size > {_TAN_THREE_EIGHTHS};",
        f"bool is_middle = size > {_TAN_EIGHTH};",
        "double above = is_far ? -1.0 : is_middle ? size - 1.0 : size;",
        "double below = is_far ? size : is_middle ? size + 1.0 : 1.0;",
        f"double start = is_far ? {_HALF_PI} : is_middle ? {_QUARTER_PI} : 0.0;",
        f"double start_low = is_far ? {_HALF_PI_LOW} : is_middle ? {_QUARTER_PI_LOW} : 0.0;",
        *_arc(),
        "return copysign(angle, x);",
    ]


def atan2_body() -> list[str]:
    """Return `atan2(y, x)`: the arc tangent of the smaller over the larger, turned."""
    return [
        "double high = fabs(y);",
        "double wide = fabs(x);",
        "bool is_steep = high > wide;",
        "double larger = is_steep ? high : wide;",
        "double smaller = is_steep ? wide : high;",
        "smaller = larger == INFINITY ? (smaller == INFINITY ? 1.0 : 0.0) : smaller;",
        "larger = larger == INFINITY || larger == 0.0 ? 1.0 : larger;",
        # a sum of the two must not overflow, what their quotient loses must not underflow
        "double unit = larger > 0x1p1000 ? 0x1p-100 : larger < 0x1p-900 ? 0x1p120 : 1.0;",
        "larger *= unit;",
        "smaller *= unit;",
        f"bool is_middle = smaller > {_TAN_EIGHTH} * larger;",
        "double above = is_middle ? smaller - larger : smaller;",
        "double below = is_middle ? smaller + larger : larger;",
        f"double start = is_middle ? {_QUARTER_PI} : 0.0;",
        f"double start_low = is_middle ? {_QUARTER_PI_LOW} : 0.0;",
        # the angle is turned by a multiple of half a turn, once
        "bool is_left = copysign(1.0, x) < 0.0;",
        "bool is_mirrored = is_steep != is_left;",
        "above = is_mirrored ? -above : above;",
        "start = is_mirrored ? -start : start;",
        "start_low = is_mirrored ? -start_low : start_low;",
        f"double turn = is_steep ? {_HALF_PI} : is_left ? {_PI} : 0.0;",
        f"double turn_low = is_steep ? {_HALF_PI_LOW} : is_left ? {_PI_LOW} : 0.0;",
        "double begin = start;",
        "start = turn + begin;",
        "start_low = (start_low + turn_low) + ((turn - start) + begin);",
        *_arc(),
        "angle = x != x || y != y ? NAN : angle;",
        "return copysign(angle, y);",
    ]


def _half_angle() -> list[str]:
    """Declare `root`, whose arc sine is `root + bend`: `size`, or the sine of half the rest."""
    return [
        "double wide = x;",
        "double size = fabs(wide);",
        "bool is_far = size > 0.5;",
        "double z = is_far ? 0.5 * (1.0 - size) : size * size;",
        "double root = is_far ? sqrt(z) : size;",
        f"double bend = root * z * ({halved('z', 'z * z', ASIN)});",
    ]


def _arc() -> list[str]:
    """Declare `angle`, the arc tangent of `above / below` and `start`."""
    return [
        "double t = above / below;",
        "double z = t * t;",
        f"double bend = fma(t * z, {halved('z', 'z * z', ATAN)}, start_low);",
        "double sum = start + t;",
        "double angle = sum + (((start - sum) + t) + bend);",
    ]


DOUBLES = {
    "asin": asin_body,
    "acos": acos_body,
    "atan": atan_body,
    "atan2": atan2_body,
}
