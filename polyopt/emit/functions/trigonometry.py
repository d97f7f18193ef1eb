"""Sine, cosine and tangent up to a size; what is larger goes to the C library.

In: the dtype.  Out: the lines of a C function body, for the argument `x`, and its limit.
Errors: below two units in the last place, 2.5 for those of doubles.
The argument less a multiple of pi, of its half for tangents, is kept in two doubles.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import (
    COS,
    COS_SINGLE,
    SIN,
    SIN_HALF,
    SIN_HALF_FLOAT,
    SIN_SINGLE,
)
from polyopt.emit.functions.text import SHIFT, halved, horner, horner_float, product, seen_as_bits
from polyopt.ir.types import DType

_TWO_OVER_PI = "0x1.45f306dc9c883p-1"
_ONE_OVER_PI = "0x1.45f306dc9c883p-2"
_ONE_OVER_PI_FLOAT = "0x1.45f306p-2f"
_SHIFT_FLOAT = "0x1.8p23f"
_PI = ("0x1.921fb54442d18p1", "0x1.1a62633145c07p-53", "-0x1.f1976b7ed8fbcp-109")
_PI_FLOAT = ("0x1.921fb6p1f", "-0x1.777a5cp-24f", "-0x1.ee59dap-49f")
_HALF_PI = ("0x1.921fb54442d18p0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")


def far(function: str, dtype: DType) -> str:
    """Return the condition under which the body of `function` does not hold."""
    if dtype is DType.FLOAT64:
        return "!(fabs(x) < 0x1p28)"
    return f"!(fabsf(x) < {'0x1p28f' if function == 'tan' else '0x1p16f'})"


def sin_body(dtype: DType) -> list[str]:
    """Return `sin(x)`."""
    if dtype is DType.FLOAT32:
        steps = [
            f"float shifted = fmaf(x, {_ONE_OVER_PI_FLOAT}, {_SHIFT_FLOAT});",
            f"float k = shifted - {_SHIFT_FLOAT};",
            *_half_turn_float(),
        ]
        return [*steps, "return x == 0.0f ? x : found.value;"]
    steps = [
        f"double shifted = fma(x, {_ONE_OVER_PI}, {SHIFT});",
        f"double k = shifted - {SHIFT};",
        *_half_turn(),
    ]
    return [*steps, "return x == 0.0 ? x : found.value;"]


def cos_body(dtype: DType) -> list[str]:
    """Return `cos(x)`, the sine of a quarter turn more."""
    if dtype is DType.FLOAT32:
        return [
            f"float shifted = fmaf(x, {_ONE_OVER_PI_FLOAT}, 0.5f) + {_SHIFT_FLOAT};",
            f"float k = (shifted - {_SHIFT_FLOAT}) - 0.5f;",
            *_half_turn_float(),
            "return found.value;",
        ]
    return [
        f"double shifted = fma(x, {_ONE_OVER_PI}, 0.5) + {SHIFT};",
        f"double k = (shifted - {SHIFT}) - 0.5;",
        *_half_turn(),
        "return found.value;",
    ]


def tan_body(dtype: DType) -> list[str]:
    """Return `tan(x)`."""
    return [
        *_both(dtype),
        "double above = (quadrant & 1) != 0 ? -cosine : sine;",
        "double below = (quadrant & 1) != 0 ? sine : cosine;",
        f"return x == 0 ? x : {_final(dtype)}(above / below);",
    ]


def _final(dtype: DType) -> str:
    return "(float)" if dtype is DType.FLOAT32 else ""


def _both(dtype: DType) -> list[str]:
    """Declare `sine` and `cosine` of what is left of `x`, and `quadrant`."""
    first, second, third = _HALF_PI
    lines = [
        "double wide = x;",
        f"double shifted = fma(wide, {_TWO_OVER_PI}, {SHIFT});",
        f"double k = shifted - {SHIFT};",
        *seen_as_bits("turns", "shifted"),
        "uint64_t quadrant = turns.bits;",
        f"double near = fma(-k, {first}, wide);",
    ]
    if dtype is DType.FLOAT32:
        return [
            *lines,
            f"double r = fma(-k, {second}, near);",
            "double z = r * r;",
            f"double sine = fma(r * z, {horner('z', SIN_SINGLE)}, r);",
            f"double cosine = fma(z * z, {horner('z', COS_SINGLE)}, fma(-0.5, z, 1.0));",
        ]
    return [
        *lines,
        *product("part", "missed", "k", second),
        "double r = near - part;",
        f"double low = fma(-k, {third}, ((near - r) - part) - missed);",
        "double z = r * r;",
        f"double sine = r + fma(r * z, {horner('z', SIN)}, low);",
        "double half = 0.5 * z;",
        "double down = 1.0 - half;",
        f"double rest = fma(z * z, {horner('z', COS)}, -r * low);",
        "double cosine = down + (((1.0 - down) - half) + rest);",
    ]


def _half_turn() -> list[str]:
    """Declare `found`, the sine of `x` less `k` times pi, with the sign that `shifted` tells."""
    first, second, third = _PI
    return [
        f"double near = fma(-k, {first}, x);",
        *product("part", "missed", "k", second),
        "double r = near - part;",
        f"double low = fma(-k, {third}, ((near - r) - part) - missed);",
        "double z = r * r;",
        "double cosine = fma(-0.5, z, 1.0);",
        f"double curve = fma(r * z, {halved('z', 'z * z', SIN_HALF)}, low * cosine);",
        *seen_as_bits("found", "r + curve"),
        *seen_as_bits("turns", "shifted"),
        "found.bits ^= turns.bits << 63;",
    ]


def _half_turn_float() -> list[str]:
    """Declare `found`, the sine of `x` less `k` times pi, with the sign that `shifted` tells."""
    first, second, third = _PI_FLOAT
    return [
        f"float near = fmaf(-k, {first}, x);",
        f"near = fmaf(-k, {second}, near);",
        f"float r = fmaf(-k, {third}, near);",
        "float z = r * r;",
        "union { float value; uint32_t bits; } found, turns;",
        f"found.value = fmaf(r * z, {horner_float('z', SIN_HALF_FLOAT)}, r);",
        "turns.value = shifted;",
        "found.bits ^= turns.bits << 31;",
    ]


BODIES = {
    "sin": sin_body,
    "cos": cos_body,
    "tan": tan_body,
}
