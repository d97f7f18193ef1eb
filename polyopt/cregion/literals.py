"""Literals of C: their values and types.

In: the text of a number or a character.  Out: `Literal`, or the words that say why there is none.
"""

from __future__ import annotations

import re

import numpy as np

from polyopt.cregion.declarations import DOUBLE, FLOAT, INT, Number
from polyopt.dataclass import dataclass, replace
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Literal:
    """Python's text of a literal, the type that C gives it, and the value of an integer."""

    text: str
    number: Number
    value: int | None = None


_CHARACTER = re.compile(
    r"'([ -\[\]-~]|\\[abfnrtv0-7\\'\"?]|\\[0-7]{2,3}|\\x[0-9a-fA-F]{1,2})'", re.ASCII
)
_ESCAPES = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63
}  # fmt: skip


def number_literal(text: str) -> Literal | str:
    """Return a number without a sign (ISO C11, 6.4.4.1 and 6.4.4.2)."""
    text = text.replace("'", "").lower()
    is_hex = text[:2] == "0x"
    if not (("p" in text) if is_hex else re.search(r"[.e]", text)):
        digits = re.sub(r"[lu]+$", "", text)
        is_octal = digits[0] == "0" and digits.isdigit()
        value = int(digits, 8 if is_octal else 0)
        is_decimal = digits.isdigit() and not is_octal
        dtype = _integer_type(value, text[len(digits) :], is_decimal)
        return Literal(str(value), Number(dtype, True), value) if dtype else "fits no integer type"
    if text[-1] == "l":
        return "is a `long double`, which has no type in NumPy"
    digits = text.removesuffix("f")
    exact = float.fromhex(digits) if is_hex else float(digits)
    if text[-1] == "f":
        return Literal(f"np.float32({float(np.float32(exact))!r})", FLOAT)
    return Literal(repr(exact), DOUBLE)


def _integer_type(value: int, suffix: str, is_decimal: bool) -> DType | None:
    for bits in (64,) if "l" in suffix else (32, 64):
        if "u" not in suffix and value < 1 << (bits - 1):
            return DType(f"int{bits}")
        if ("u" in suffix or not is_decimal) and value < 1 << bits:
            return DType(f"uint{bits}")
    return None


def character_literal(text: str) -> Literal | str:
    """Return a character with its quotes (ISO C11, 6.4.4.4)."""
    match = _CHARACTER.fullmatch(text)
    if match is None:
        return "is not one character"
    found = match[1]
    if found[0] != "\\":
        value = ord(found)
    elif found[1] in _ESCAPES:
        value = _ESCAPES[found[1]]
    else:
        value = int(found[2:], 16) if found[1] == "x" else int(found[1:], 8)
    value = Number(DType.INT8).wrapped(value)
    return Literal(str(value), replace(INT, is_index=True), value)
