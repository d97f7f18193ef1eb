"""Numbers that know the formula they are the value of.

In: sizes with their values, as symbols or not.  Out: sums and products of both; comparisons are of
values, so that a minimum's formula is that of its smaller side.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

from polyopt.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """A value and its formula: a number, or a sympy expression over sizes."""

    value: float
    formula: Any

    def __add__(self, other: Number) -> Amount:
        """Return the sum."""
        right = amount(other)
        return Amount(self.value + right.value, self.formula + right.formula)

    def __sub__(self, other: Number) -> Amount:
        """Return the difference."""
        right = amount(other)
        return Amount(self.value - right.value, self.formula - right.formula)

    def __mul__(self, other: Number) -> Amount:
        """Return the product."""
        right = amount(other)
        return Amount(self.value * right.value, self.formula * right.formula)

    def __truediv__(self, other: Number) -> Amount:
        """Return the quotient; by zero it is nothing."""
        right = amount(other)
        if right.value == 0:
            return amount(0)
        return Amount(self.value / right.value, _over(self.formula, right.formula))

    __radd__, __rmul__ = __add__, __mul__

    def floored(self) -> Amount:
        """Return the value rounded down; the formula stays, for it is about large sizes."""
        return Amount(floor(self.value), self.formula)

    def __lt__(self, other: Amount) -> bool:
        """Compare values."""
        return self.value < other.value

    def __repr__(self) -> str:
        return f"{self.value:g} = {self.formula}"


Number: TypeAlias = int | float | Amount


def amount(number: Number) -> Amount:
    """Return a number as an amount."""
    return number if isinstance(number, Amount) else Amount(number, number)


def _over(left: Any, right: Any) -> Any:  # noqa: ANN401 - a number or a sympy expression
    if isinstance(left, int | Fraction) and isinstance(right, int | Fraction):
        return Fraction(left) / right
    return left / right


ZERO, ONE = amount(0), amount(1)


def total(parts: Iterable[Amount]) -> Amount:
    """Return the sum."""
    result = ZERO
    for part in parts:
        result = result + part
    return result


def product(parts: Iterable[Amount]) -> Amount:
    """Return the product."""
    result = ONE
    for part in parts:
        result = result * part
    return result
