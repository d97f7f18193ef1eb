"""The error function and its complement.

In: the dtype.  Out: the lines of a C function body, for the argument `x`.
Errors: below 1.5 units in the last place, four for the complement of doubles.
Near zero they are polynomials, further out one in (x - K) / (x + K) times exp(-x**2).
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import (
    ERF,
    ERF_EXPONENT,
    ERF_SINGLE,
    ERFC,
    ERFC_SINGLE,
    EXP_SINGLE,
)
from polyopt.emit.functions.exponentials import (
    LN2,
    LOG2_E,
    SCALE,
    SCALES,
    SHIFT_ONCE,
    SHIFT_TWICE,
    tail,
)
from polyopt.emit.functions.text import SHIFT, halved, horner, quartered, seen_as_bits
from polyopt.ir.types import DType

_SLOPE, _SLOPE_LOW = "0x1.20dd750429b6dp0", "0x1.1ae3a914fed80p-56"  # 2 / sqrt(pi)


def erf_body() -> list[str]:
    """Return `erf(x)`."""
    return [
        "double y = fabs(x);",
        "double square = y * y;",
        "double fourth = square * square;",
        f"double curve = {quartered('y', 'square', 'fourth', ERF_EXPONENT)};",
        f"double slope = fma(y, curve, {_SLOPE_LOW});",
        f"double exponent = fma(-y, {_SLOPE}, -y * slope);",
        f"double missed = fma(-y, slope, fma(-y, {_SLOPE}, -exponent));",
        *tail("exponent", SHIFT_ONCE, "missed"),
        *SCALE,
        "double found = fma(-tail, scale, 1.0 - scale);",
        "return copysign(y > 6.0 ? 1.0 : found, x);",
    ]


def erfc_body(dtype: DType) -> list[str]:
    """Return `1 - erf(x)`."""
    if dtype is DType.FLOAT32:
        return [
            *_near("(double)x", ERF_SINGLE),
            *_far_single(),
            "double outer = x < 0.0f ? 2.0 - complement : complement;",
            "return (float)(size > 0.5 ? outer : 1.0 - inner);",
        ]
    return [
        *_near("x", ERF),
        *_far("27.5", "4.0", ERFC),
        "double outer = x < 0.0 ? 2.0 - complement : complement;",
        "return size > 0.5 ? outer : 1.0 - inner;",
    ]


def _near(argument: str, polynomial: tuple[str, ...]) -> list[str]:
    """Declare `size` and `inner`, the function up to one."""
    return [
        f"double wide = {argument};",
        "double size = fabs(wide);",
        "double z = wide * wide;",
        f"double slope = fma(z, {halved('z', 'z * z', polynomial)}, {_SLOPE_LOW});",
        f"double inner = fma(wide, {_SLOPE}, wide * slope);",
    ]


def _far(end: str, center: str, polynomial: tuple[str, ...]) -> list[str]:
    """Declare `complement`, the function at `size` from 1/2 to `end`."""
    return [
        f"double y = size > {end} ? {end} : size;",
        "double line = fma(2.0, y, 1.0);",
        f"double inverse = 1.0 / (line * (y + {center}));",
        f"double t = (y - {center}) * line * inverse;",
        f"double factor = (y + {center}) * inverse * ({halved('t', 't * t', polynomial)});",
        "double power_of = y * y;",
        "double missed = fma(y, y, -power_of);",
        *tail("-power_of", SHIFT_TWICE, "-missed"),
        *SCALES,
        "double complement = fma(tail, first, first) * factor * second;",
    ]


def _far_single() -> list[str]:
    return [
        "double y = size > 10.5 ? 10.5 : size;",
        "double line = fma(2.0, y, 1.0);",
        "double inverse = 1.0 / (line * (y + 3.0));",
        "double t = (y - 3.0) * line * inverse;",
        f"double factor = (y + 3.0) * inverse * ({horner('t', ERFC_SINGLE)});",
        "double power = -y * y;",
        f"double shifted = fma(power, {LOG2_E}, {SHIFT});",
        f"double r = fma(-(shifted - {SHIFT}), {LN2}, power);",
        f"double series = 1.0 + fma(r * r, {horner('r', EXP_SINGLE)}, r);",
        *seen_as_bits("power_of_two", "shifted"),
        "power_of_two.bits = (power_of_two.bits + 1023) << 52;",
        "double complement = series * factor * power_of_two.value;",
    ]


DOUBLES = {"erf": erf_body}
BODIES = {"erfc": erfc_body}
