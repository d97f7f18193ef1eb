"""Exponential and hyperbolic tangent as plain arithmetic, which compilers vectorize.

In: the dtype.  Out: the lines of a C function body, for the argument `x`.
Errors: below one unit in the last place, three for the tangent of doubles; NaN and infinity hold.
"""

from __future__ import annotations

from math import factorial

from polyopt.ir.types import DType

COVERED = (DType.FLOAT32, DType.FLOAT64)

_SHIFT = "0x1.8p52"  # added to a double of size below 2**51, it rounds to an integer
_LOG2_E = "0x1.71547652b82fep0"
_LN2 = "0x1.62e42fefa39efp-1"
_LN2_HIGH = "0x1.62e42fefa0000p-1"  # a product with an integer below 2**13 is exact
_LN2_LOW = "0x1.cf79abc9e3b39p-40"

_SCALE = (
    "union { double value; uint64_t bits; } power_of_two;",
    "power_of_two.value = shifted;",
    "power_of_two.bits = (power_of_two.bits + 1023) << 52;",
    "double scale = power_of_two.value;",
)


def exp_body(dtype: DType) -> list[str]:
    """Return `exp(x)`."""
    if dtype is DType.FLOAT32:
        return [*_single("x", "-110.0", "100.0"), "return (float)(series * scale);"]
    return [
        "double y = x < -750.0 ? -750.0 : x > 720.0 ? 720.0 : x;",
        f"double shifted = y * {_LOG2_E} + {_SHIFT};",
        f"double whole = shifted - {_SHIFT};",
        f"double r = (y - whole * {_LN2_HIGH}) - whole * {_LN2_LOW};",
        f"double series = 1.0 + (r + r * r * ({_horner('r', 13)}));",
        "union { double value; uint64_t bits; } from, first, second;",
        "from.value = shifted;",
        # two powers of two, since one would overflow or underflow too early
        "uint64_t power = ((from.bits & 0xffffu) + 4096) & 0xffffu;",
        "uint64_t half = power / 2;",
        "first.bits = (half - 2048 + 1023) << 52;",
        "second.bits = (power - half - 2048 + 1023) << 52;",
        "return series * first.value * second.value;",
    ]


def tanh_body(dtype: DType) -> list[str]:
    """Return `tanh(x)` from the exponential of `2 * x`."""
    if dtype is DType.FLOAT64:
        return [
            "double y = 2.0 * fabs(x);",
            "y = y > 50.0 ? 50.0 : y;",
            f"double shifted = y * {_LOG2_E} + {_SHIFT};",
            f"double whole = shifted - {_SHIFT};",
            f"double r = (y - whole * {_LN2_HIGH}) - whole * {_LN2_LOW};",
            f"double series = r + r * r * ({_horner('r', 13)});",
            *_SCALE,
            "double less_one = scale * series + (scale - 1.0);",
            "return copysign(less_one / (less_one + 2.0), x);",
        ]
    return [
        *_single("2.0 * (double)x", "-40.0", "40.0"),
        "double power = series * scale;",
        "double wide = (power - 1.0) / (power + 1.0);",
        "return x > -1e-4f && x < 1e-4f ? x : (float)wide;",
    ]


def cube_body(dtype: DType) -> list[str]:
    """Return `pow(x, 3)`, rounded once but for rare cases, as `pow` does."""
    if dtype is DType.FLOAT32:
        return ["double y = x;", "return (float)(y * y * y);"]
    return [
        "double square = x * x;",
        "double cube = square * x;",
        # what the two roundings lost
        "double rest = fma(square, x, -cube) + fma(x, x, -square) * x;",
        "double size = fabs(cube);",
        "return size > 0x1p-960 && size <= 0x1.fffffffffffffp1023 ? cube + rest : cube;",
    ]


def _single(argument: str, low: str, high: str) -> list[str]:
    """Declare `series` and `scale`, whose product is the exponential, accurate for a float."""
    return [
        f"double y = {argument};",
        f"y = y < {low} ? {low} : y > {high} ? {high} : y;",
        f"double shifted = y * {_LOG2_E} + {_SHIFT};",
        f"double r = y - (shifted - {_SHIFT}) * {_LN2};",
        f"double series = 1.0 + (r + r * r * ({_horner('r', 9)}));",
        *_SCALE,
    ]


def _horner(variable: str, degree: int) -> str:
    """Return the terms of the exponential's series from the second degree, over its square."""
    text = _coefficient(degree)
    for power in range(degree - 1, 1, -1):
        text = f"{_coefficient(power)} + {variable} * ({text})"
    return text


def _coefficient(power: int) -> str:
    return (1 / factorial(power)).hex()
