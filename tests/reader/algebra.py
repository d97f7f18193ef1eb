"""Fingerprints of terms: equal ones for terms that documented rewrites make of each other.

In: operations on fingerprints, with their element types.  Out: a fingerprint, an integer.
Rewrites that a fingerprint does not see:

- floats and complex numbers are a field of integers modulo a prime: sums and products commute,
  associate and distribute, a quotient is a product with the reciprocal, a power to a small whole
  number is a product, to a half a square root, a fused multiply-add is a product and a sum;
- integers of `n` bits are a ring modulo `2**n`;
- bitwise `& | ^` join sets;
- operations on constants are constants, rounded in their type; a widened float narrowed again is
  the float;
- truth values, and what they choose, are taken for the numbers at hand; so are minima, maxima and
  magnitudes, which are choices.

The order of roundings is what runs bit for bit compare; which elements meet in which operations, of
which types, is what fingerprints compare.  Two different terms of a field agree by chance with a
probability below 2**-50 (Schwartz, "Fast probabilistic algorithms", 1980; Zippel, 1979).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

PRIME = 2**61 - 1
MASK = 2**64 - 1
HALF = 64  # bits of each part of a complex number's fingerprint
SMALL = 16  # powers up to this one are products

Number: TypeAlias = Any
Kind: TypeAlias = np.dtype[Any]
Operand: TypeAlias = tuple[int, Kind, Number]
"""A fingerprint, its type, the number at hand."""


def scattered(*parts: object) -> int:
    """Return a number that looks random for what `parts` print."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % PRIME


def is_field(kind: Kind) -> bool:
    """Tell whether numbers of `kind` are reals or complex."""
    return kind.kind in "fcV" or kind.name == "bfloat16"


@cache
def bits(kind: Kind) -> int:
    """Return the width of an integer."""
    return 8 * kind.itemsize


@cache
def _fraction(value: float) -> int:
    exact = Fraction(value)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


def _real(value: Number) -> int:
    number = float(value)
    return scattered("number", repr(number)) if not np.isfinite(number) else _fraction(number)


@dataclass(slots=True)
class Algebra:
    """Fingerprints of one comparison: which floats were widened, what sets of bits are made of."""

    widened: dict[int, tuple[Kind, int]] = field(default_factory=dict)
    joined: dict[tuple[str, int], frozenset[int]] = field(default_factory=dict)

    def leaf(self, name: str, kind: Kind) -> int:
        """Return the fingerprint of something given."""
        if kind.kind == "c":
            return scattered(name, "real") | scattered(name, "imag") << HALF
        return scattered(name, kind.name)

    def constant(self, value: Number, kind: Kind) -> int:
        """Return the fingerprint of a number."""
        if kind.kind in "iub":
            return int(value) & (2 ** bits(kind) - 1)
        if kind.kind == "c":
            return _real(complex(value).real) | _real(complex(value).imag) << HALF
        return _real(value)

    def is_constant(self, code: int, kind: Kind, number: Number) -> bool:
        """Tell whether a term with that number is one."""
        return code == self.constant(number, kind)

    def cast(self, code: int, source: Kind, target: Kind, before: Number, number: Number) -> int:
        """Return a value as `target`; `number` is the converted number, of `before`."""
        if source == target:
            return code
        if source.kind == "b" or self.is_constant(code, source, before):
            return self.constant(number, target)
        if source.kind in "iu" and target.kind in "iu" and bits(target) <= bits(source):
            return code & (2 ** bits(target) - 1)
        if source.kind == "c" and target.kind == "c":
            real, imag = code & MASK, code >> HALF
            parts = [scattered("cast", source.name, target.name, part) for part in (real, imag)]
            return parts[0] | parts[1] << HALF
        if source.kind == "c":
            narrow = np.dtype(f"f{source.itemsize // 2}")
            return self.cast(code & MASK, narrow, target, np.real(before), number)
        if target.kind == "c":
            narrow = np.dtype(f"f{target.itemsize // 2}")
            return self.cast(code, source, narrow, before, np.real(number))
        narrowed = self.widened.get(code)
        if narrowed is not None and narrowed[0] == target:
            return narrowed[1]
        found = scattered("cast", source.name, target.name, code)
        if np.can_cast(source, target):
            self.widened[found] = (source, code)
        return found

    def operation(
        self, name: str, result: Kind, operands: Sequence[Operand], number: Number
    ) -> int:
        """Return `name` of operands; `number` is the result for the numbers at hand."""
        if result.kind == "b" or all(self.is_constant(*operand) for operand in operands):
            return self.constant(number, result)
        if name in ("**", "pow") and self._is_half(operands[1]):
            name, operands = "sqrt", operands[:1]
        codes = [code for code, _, _ in operands]
        if any(kind.kind == "c" for _, kind, _ in operands) or result.kind == "c":
            found = self._complex(name, result, operands)
        elif is_field(result):
            found = self._float(name, operands)
        elif name in _RING and result.kind in "iu":
            found = _RING[name](*codes) & (2 ** bits(result) - 1)
        elif name == "neg":
            found = -codes[0] & (2 ** bits(result) - 1)
        elif name == "**" and (power := self._power(operands[1])) is not None and power >= 0:
            found = pow(codes[0], power, 2 ** bits(result))
        else:
            found = None
        return self._opaque(name, result, operands) if found is None else found

    def _is_half(self, operand: Operand) -> bool:
        return bool(operand[2] == 0.5) and self.is_constant(*operand)

    def _power(self, operand: Operand) -> int | None:
        value = complex(operand[2])
        if not self.is_constant(*operand) or value.imag or value.real != value.real // 1:
            return None
        return int(value.real) if abs(value.real) <= SMALL else None

    def _float(self, name: str, operands: Sequence[Operand]) -> int | None:
        a, b = operands[0][0], operands[-1][0]
        match name:
            case "+":
                return (a + b) % PRIME
            case "-":
                return (a - b) % PRIME
            case "*":
                return a * b % PRIME
            case "/" if b:
                return a * pow(b, -1, PRIME) % PRIME
            case "neg":
                return -a % PRIME
            case "fma":
                return (a * operands[1][0] + b) % PRIME
            case "**" | "pow":
                power = self._power(operands[-1])
                return None if power is None or (power < 0 and not a) else pow(a, power, PRIME)
            case _:
                return None

    def _complex(  # noqa: C901  one case per operation
        self, name: str, result: Kind, operands: Sequence[Operand]
    ) -> int | None:
        parts = [(c & MASK, c >> HALF) if k.kind == "c" else (c, 0) for c, k, _ in operands]
        (a, b), (c, d) = parts[0], parts[-1]
        match name:
            case "+":
                found = (a + c, b + d)
            case "-":
                found = (a - c, b - d)
            case "*":
                found = (a * c - b * d, a * d + b * c)
            case "/" if (c * c + d * d) % PRIME:
                scale = pow(c * c + d * d, -1, PRIME)
                found = ((a * c + b * d) * scale, (b * c - a * d) * scale)
            case "neg":
                found = (-a, -b)
            case "conj":
                found = (a, -b)
            case "creal":
                return a
            case "cimag":
                return b
            case "CMPLX":
                found = (a, c)
            case "**" if (power := self._power(operands[-1])) is not None and power >= 0:
                found = (1, 0)
                for _ in range(power):
                    found = (found[0] * a - found[1] * b, found[0] * b + found[1] * a)
            case _:
                return None
        return found[0] % PRIME | (found[1] % PRIME) << HALF

    def _bits(self, name: str, result: Kind, operands: Sequence[Operand]) -> int:
        """Return a bitwise operation: a set of what is joined, twice is never for `^`."""
        neutral = 2 ** bits(result) - 1 if name == "&" else 0
        members: frozenset[int] = frozenset()
        for code, _, _ in operands:
            if code != neutral:
                more = self.joined.get((name, code), frozenset((code,)))
                members = members ^ more if name == "^" else members | more
        if not members:
            return neutral
        if len(members) == 1:
            return next(iter(members))
        found = scattered(name, result.name, sorted(members))
        self.joined[name, found] = members
        return found

    def _opaque(self, name: str, result: Kind, operands: Sequence[Operand]) -> int:
        shown = [kind.name for _, kind, _ in operands]
        codes = [code for code, _, _ in operands]
        if name in _BITWISE:
            return self._bits(name, result, operands)
        ordered = sorted(codes) if name in ("hypot", "gcd") else list(codes)
        if result.kind == "c":
            real, imag = (scattered(name, shown, ordered, part) for part in ("real", "imag"))
            return real | imag << HALF
        return scattered(name, shown, result.name, ordered)


_BITWISE = ("&", "|", "^")
_RING: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
