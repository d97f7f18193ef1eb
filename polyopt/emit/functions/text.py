"""Build parts of the bodies of elementary functions.

In: names of C variables, coefficients.  Out: C text.
"""

from __future__ import annotations

from polyopt.ir.types import DType

INLINE = "static inline __attribute__((always_inline))"  # a call keeps a loop from lanes
SHIFT = "0x1.8p52"  # added to a double of size below 2**51, it rounds to an integer


def horner(variable: str, coefficients: tuple[str, ...]) -> str:
    """Return the value of a polynomial, lowest coefficient first."""
    *rest, text = coefficients
    for coefficient in reversed(rest):
        text = f"fma({variable}, {text}, {coefficient})"
    return text


def halved(variable: str, square: str, coefficients: tuple[str, ...]) -> str:
    """Return the value of a polynomial, its lowest term and two parts that do not wait."""
    first, *rest = coefficients
    even, odd = (horner(square, tuple(rest[start::2])) for start in (0, 1))
    return f"fma({variable}, fma({variable}, {odd}, {even}), {first})"


def quartered(variable: str, square: str, fourth: str, coefficients: tuple[str, ...]) -> str:
    """Return the value of a polynomial as four in the variable's fourth power."""
    parts = [horner(fourth, coefficients[start::4]) for start in range(4)]
    low, high = (f"fma({variable}, {parts[i + 1]}, {parts[i]})" for i in (0, 2))
    return f"fma({square}, {high}, {low})"


def horner_float(variable: str, coefficients: tuple[str, ...]) -> str:
    """Return the value of a polynomial, lowest coefficient first, evaluated in float."""
    *rest, last = coefficients
    text = f"{last}f"
    for coefficient in reversed(rest):
        text = f"fmaf({variable}, {text}, {coefficient}f)"
    return text


def seen_as_bits(name: str, value: str) -> list[str]:
    """Declare `name.bits`, the bits of a double, and `name.value`."""
    return [f"union {{ double value; uint64_t bits; }} {name};", f"{name}.value = {value};"]


def product(high: str, low: str, left: str, right: str) -> list[str]:
    """Declare doubles whose sum is the product of two.

    The last bit of `high` is cleared: what compilers know to be a product, they may fuse into the
    next sum, where `low` would count twice.
    """
    return [
        *seen_as_bits(f"{high}_of", f"{left} * {right}"),
        f"{high}_of.bits &= ~UINT64_C(1);",
        f"double {high} = {high}_of.value;",
        f"double {low} = fma({left}, {right}, -{high});",
    ]


def guarded(fast: list[str], function: str, dtype: DType, arguments: tuple[str, ...]) -> list[str]:
    """Return `fast` for machines with fused multiply-add, the C library's function for others."""
    suffix = "f" if dtype is DType.FLOAT32 else ""
    return [
        "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)",
        *fast,
        "#else",
        f"return {function}{suffix}({', '.join(arguments)});",
        "#endif",
    ]
