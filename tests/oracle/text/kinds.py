"""C's types and arithmetic, undefined behaviour included.

In: kinds and numbers.  Out: numbers of the kind that C gives; `Trouble` where C defines nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


class Trouble(Exception):
    """The text does what it must not do."""


NOTHING = object()
"""The value of memory that was never written: it may be copied, but nothing may depend on it."""


def known(*values: Any) -> None:
    """Raise `Trouble` if one of the values was never written."""
    if any(value is NOTHING for value in values):
        raise Trouble("what was never written is used")


@dataclass(frozen=True, slots=True)
class Number:
    """`family` is bool, int, uint, float or complex."""

    family: str
    bits: int

    @property
    def size(self) -> int:
        """Bytes."""
        return max(1, self.bits // 8)

    @property
    def is_integer(self) -> bool:
        """Whether values are Python integers."""
        return self.family in ("bool", "int", "uint")


@dataclass(frozen=True, slots=True)
class Vector:
    """`lanes` numbers that are computed with at once."""

    of: Number
    lanes: int


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of `length` elements or rows."""

    of: Kind
    length: int


@dataclass(frozen=True, slots=True)
class Ptr:
    """A pointer to a kind."""

    to: Kind


@dataclass(frozen=True, slots=True)
class Overlay:
    """A union: one memory, seen as numbers of several kinds."""

    fields: tuple[tuple[str, Number], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A union seen as one of its kinds; the cell holds what was written and its kind."""

    of: Number


@dataclass(frozen=True, slots=True)
class Void:
    """No value, or memory of no kind yet."""


Kind: TypeAlias = "Number | Vector | Rows | Ptr | Overlay | Member | Void"

BOOL, INT, LONG = Number("bool", 1), Number("int", 32), Number("int", 64)
UINT, ULONG = Number("uint", 32), Number("uint", 64)
FLOAT, DOUBLE = Number("float", 32), Number("float", 64)
VOID = Void()

NAMED: dict[str, Kind] = {
    "_Bool": BOOL,
    "char": Number("int", 8),
    "int": INT,
    "long": LONG,
    "unsigned": UINT,
    "float": FLOAT,
    "double": DOUBLE,
    "float _Complex": Number("complex", 64),
    "double _Complex": Number("complex", 128),
    "void": VOID,
    "size_t": ULONG,
    "uintptr_t": ULONG,
    **{f"int{bits}_t": Number("int", bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": Number("uint", bits) for bits in (8, 16, 32, 64)},
}
_NUMPY: dict[Number, Any] = {
    FLOAT: np.float32,
    DOUBLE: np.float64,
    Number("complex", 64): np.complex64,
    Number("complex", 128): np.complex128,
}


def count(kind: Kind) -> int:
    """Return how many numbers a value of `kind` consists of."""
    match kind:
        case Rows():
            return kind.length * count(kind.of)
        case Vector():
            return kind.lanes
        case _:
            return 1


def base(kind: Kind) -> Kind:
    """Return the kind of the numbers that a value consists of."""
    return base(kind.of) if isinstance(kind, Rows | Vector) else kind


def size(kind: Kind) -> int:
    """Return the bytes of a value."""
    inner = base(kind)
    return count(kind) * (inner.size if isinstance(inner, Number) else 8)


def convert(value: Any, kind: Kind) -> Any:
    """Return a number, or a tuple of lanes, as `kind` holds it."""
    match kind:
        case Vector():
            lanes = value if isinstance(value, tuple) else (value,) * kind.lanes
            return tuple(convert(lane, kind.of) for lane in lanes)
        case Number():
            return value if value is NOTHING else _number(value, kind)
        case _:
            return value


def _number(value: Any, kind: Number) -> Any:
    if kind.family == "bool":
        return int(bool(value))
    if not kind.is_integer:
        if kind.family == "float" and isinstance(value, np.complexfloating):
            value = value.real
        with np.errstate(all="ignore"):
            return _NUMPY[kind](value)
    if not isinstance(value, int):
        whole = value.real
        if not np.isfinite(whole) or not fits(int(whole), kind):
            raise Trouble(f"{value} does not fit an integer of {kind.bits} bits")
        return int(whole)
    return wrapped(value, kind)


def seen_as(value: Any, kind: Number, other: Number) -> Any:
    """Return the bits of a number of `kind` as a number of `other`."""
    made = np.array([value], _dtype(kind)).view(_dtype(other))[0]
    return int(made) if other.is_integer else made


def _dtype(kind: Number) -> Any:
    return _NUMPY.get(kind, f"{kind.family}{kind.bits}")


def fits(value: int, kind: Number) -> bool:
    """Tell whether an integer kind holds `value`."""
    if kind.family == "uint":
        return 0 <= value < 1 << kind.bits
    return -(1 << (kind.bits - 1)) <= value < 1 << (kind.bits - 1)


def wrapped(value: int, kind: Number) -> int:
    """Return an integer modulo the range of its kind."""
    value %= 1 << kind.bits
    if kind.family == "int" and value >= 1 << (kind.bits - 1):
        value -= 1 << kind.bits
    return value


def promoted(kind: Number) -> Number:
    """Return the kind that C computes in."""
    return INT if kind.is_integer and kind.bits < 32 else kind


def common(one: Number, two: Number) -> Number:
    """Return the kind of an operation's operands after the usual conversions."""
    families = (one.family, two.family)
    if "complex" in families or "float" in families:
        parts = [
            k.bits // (2 if k.family == "complex" else 1) for k in (one, two) if not k.is_integer
        ]
        bits = max(parts)
        return Number("complex", 2 * bits) if "complex" in families else Number("float", bits)
    one, two = promoted(one), promoted(two)
    bits = max(one.bits, two.bits)
    is_unsigned = any(k.family == "uint" and k.bits == bits for k in (one, two))
    return Number("uint" if is_unsigned else "int", bits)


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise Trouble("division by zero")
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_REAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def arithmetic(op: str, a: Any, b: Any, kind: Number) -> Any:
    """Return `a op b` for operands of `kind`."""
    known(a, b)
    if kind.is_integer:
        return wrapped(_WHOLE[op](a, b), kind)  # emitted code is compiled with -fwrapv
    with np.errstate(all="ignore"):
        return _REAL[op](a, b)


def shift(op: str, a: int, b: int, kind: Number) -> int:
    """Return `a << b` or `a >> b` for an `a` of `kind`."""
    known(a, b)
    if not 0 <= b < kind.bits:
        raise Trouble(f"a shift of {kind.bits} bits by {b}")
    if op == ">>":
        return a >> b
    return wrapped(a << b, kind)
