"""Sine, cosine and tangent up to a size; what is larger goes to the C library.

In: the dtype.  Out: the lines of a C function body, for the argument `x`, and its limit.
Errors: below one unit in the last place, two for the tangent of doubles.
The argument less a multiple of half of pi is kept in two doubles.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import COS, COS_SINGLE, SIN, SIN_SINGLE
from polyopt.emit.functions.text import SHIFT, horner, product, seen_as_bits
from polyopt.ir.types import DType

_TWO_OVER_PI = "0x1.45f306dc9c883p-1"
_HALF_PI = ("0x1.921fb54442d18p0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")


def far(dtype: DType) -> str:
    """Return the condition under which the bodies do not hold."""
    f = "f" if dtype is DType.FLOAT32 else ""
    return f"!(fabs{f}(x) < 0x1p28{f})"


def sin_body(dtype: DType) -> list[str]:
    """Return `sin(x)`."""
    lines = [*_both(dtype), *_turned("quadrant")]
    return [*lines, f"return x == 0 ? x : {_final(dtype)}found.value;"]


def cos_body(dtype: DType) -> list[str]:
    """Return `cos(x)`."""
    lines = [*_both(dtype), "quadrant += 1;", *_turned("quadrant")]
    return [*lines, f"return {_final(dtype)}found.value;"]


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


def _turned(quadrant: str) -> list[str]:
    return [
        *seen_as_bits("found", f"({quadrant} & 1) != 0 ? cosine : sine"),
        f"found.bits ^= ({quadrant} & 2) << 62;",
    ]
