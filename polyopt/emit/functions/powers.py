"""Powers of positive numbers; other bases and very large exponents go to the C library.

In: the dtype.  Out: the lines of a C function body, for the arguments `x` and `y`.
Errors: below one unit in the last place.
The logarithm, in two doubles, times the exponent, is the argument of an exponential.
"""

from __future__ import annotations

from polyopt.emit.functions.coefficients import EXP_SINGLE, LOG_SINGLE, LOG_TAIL
from polyopt.emit.functions.exponentials import LN2, LOG2_E, SCALES, SHIFT_TWICE, tail
from polyopt.emit.functions.logarithms import LN2_HIGH, LN2_LOW, ratio
from polyopt.emit.functions.text import SHIFT, horner, product, seen_as_bits
from polyopt.ir.types import DType

_TWO_THIRDS, _TWO_THIRDS_LOW = "0x1.5555555555555p-1", "0x1.5555555555555p-55"


def far(dtype: DType) -> str:
    """Return the condition under which the bodies do not hold."""
    if dtype is DType.FLOAT32:
        return "!(x > 0.0f && x < INFINITY && fabsf(y) < INFINITY)"
    return "!(x >= 0x1p-1022 && x < (double)INFINITY && fabs(y) < 0x1p60)"


def pow_body(dtype: DType) -> list[str]:
    """Return `pow(x, y)`."""
    return _single() if dtype is DType.FLOAT32 else _double()


def _double() -> list[str]:
    return [
        *ratio("x", "base"),
        # s + s_low is f / (2 + f)
        "double below = 2.0 + f;",
        "double inverse = 1.0 / below;",
        "double s = f * inverse;",
        "double s_low = fma(-s, f - (below - 2.0), fma(-s, below, f)) * inverse;",
        *product("z", "z_low", "s", "s"),
        "z_low = fma(2.0 * s, s_low, z_low);",
        f"double bend = z * ({horner('z', LOG_TAIL)});",
        f"double c = {_TWO_THIRDS} + bend;",
        f"double c_low = (({_TWO_THIRDS} - c) + bend) + {_TWO_THIRDS_LOW};",
        *product("u", "u_low", "s", "z"),
        "u_low = fma(s, z_low, fma(s_low, z, u_low));",
        *product("v", "v_low", "u", "c"),
        "v_low = fma(u, c_low, fma(u_low, c, v_low));",
        "double log_m = 2.0 * s + v;",
        "double log_m_low = ((2.0 * s - log_m) + v) + fma(2.0, s_low, v_low);",
        f"double log_k = k * {LN2_HIGH};",
        "double log = log_k + log_m;",
        f"double log_low = ((log_k - log) + log_m) + fma(k, {LN2_LOW}, log_m_low);",
        *product("p", "p_low", "y", "log"),
        "p_low = fma(y, log_low, p_low);",
        "p_low = fabs(p) > 760.0 ? 0.0 : p_low;",
        "p = p < -760.0 ? -760.0 : p > 760.0 ? 760.0 : p;",
        *tail("p", SHIFT_TWICE, "p_low"),
        *SCALES,
        "return fma(tail, first, first) * second;",
    ]


def _single() -> list[str]:
    return [
        *ratio("x", "base"),
        "double s = f / (2.0 + f);",
        "double z = s * s;",
        f"double p = y * fma(k, {LN2}, fma(s * z, {horner('z', LOG_SINGLE)}, 2.0 * s));",
        "p = p < -110.0 ? -110.0 : p > 100.0 ? 100.0 : p;",
        f"double shifted = fma(p, {LOG2_E}, {SHIFT});",
        f"double r = fma(-(shifted - {SHIFT}), {LN2}, p);",
        f"double series = 1.0 + fma(r * r, {horner('r', EXP_SINGLE)}, r);",
        *seen_as_bits("power_of_two", "shifted"),
        "power_of_two.bits = (power_of_two.bits + 1023) << 52;",
        "return (float)(series * power_of_two.value);",
    ]


BODIES = {
    "pow": pow_body,
}
