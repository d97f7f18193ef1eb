"""How the memory of arrays grows with the sizes of a call.

In: arrays whose extents are expressions over sizes.  Out: bytes as a polynomial in the sizes, an
upper bound up to lower terms; the arrays that take more than others in whose place they may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.showing import show

Monomial: TypeAlias = tuple[str, ...]
"""The sizes that are multiplied, sorted; one that is there twice is squared."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A polynomial: what each product of sizes is multiplied by."""

    terms: Mapping[Monomial, Fraction]

    def __add__(self, other: Growth) -> Growth:
        """Return the sum."""
        return self._joined(other, lambda a, b: a + b)

    def __sub__(self, other: Growth) -> Growth:
        """Return the difference."""
        return self._joined(other, lambda a, b: a - b)

    def __mul__(self, other: Growth) -> Growth:
        """Return the product."""
        found: dict[Monomial, Fraction] = {}
        for one, by in self.terms.items():
            for two, times in other.terms.items():
                monomial = tuple(sorted((*one, *two)))
                found[monomial] = found.get(monomial, Fraction(0)) + by * times
        return _growth(found)

    def most(self, other: Growth) -> Growth:
        """Return a bound of both."""
        return self._joined(other, max)

    def positive(self) -> Growth:
        """Return the terms that are added."""
        return Growth({m: by for m, by in self.terms.items() if by > 0})

    @property
    def degree(self) -> int:
        """The most sizes that are multiplied."""
        return max(map(len, self.positive().terms), default=0)

    def _joined(self, other: Growth, join: Callable[[Fraction, Fraction], Fraction]) -> Growth:
        zero = Fraction(0)
        names = (*self.terms, *other.terms)
        return _growth({m: join(self.terms.get(m, zero), other.terms.get(m, zero)) for m in names})


def _growth(terms: Mapping[Monomial, Fraction]) -> Growth:
    return Growth({monomial: by for monomial, by in terms.items() if by})


NOTHING = Growth({})
MOST = 3
"""How many times the matrices of a program its temporaries may take: copies that are laid out for a
wavefront take twice their matrix and more."""


def _number(value: int) -> Growth:
    return _growth({(): Fraction(value)})


def growth(extent: Expr) -> Growth:
    """Return a polynomial that an extent is at most, for large sizes and up to lower terms."""
    match extent:
        case Const(value=int(value)):
            return _number(value)
        case Param(name=name) | Symbol(name=name) | Iter(name=name):
            return Growth({(name,): Fraction(1)})
        case Unary(op=UnaryOp.NEG, operand=operand):
            return NOTHING - growth(operand)
        case Select(then=then, otherwise=otherwise):
            return growth(then).most(growth(otherwise))
        case Binary(op=op, left=left, right=right):
            return _of_operands(op, growth(left), growth(right), extent)
        case _:
            return Growth({(show(extent),): Fraction(1)})


def _of_operands(op: BinaryOp, left: Growth, right: Growth, whole: Expr) -> Growth:
    match op:
        case BinaryOp.ADD:
            return left + right
        case BinaryOp.SUB:
            return left - right
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.MAX:
            return left.most(right)
        case BinaryOp.MIN:
            return min(left, right, key=lambda one: one.degree)
        case BinaryOp.MOD:
            return right
        case BinaryOp.FLOORDIV:
            by = right.terms.get((), Fraction(0))
            alone = len(right.terms) == 1 and by > 0
            return left * Growth({(): 1 / by}) if alone else left
        case _:
            return Growth({(show(whole),): Fraction(1)})


def memory(array: Array) -> Growth:
    """Return the bytes of an array."""
    extents = (growth(extent) for extent in array.shape)
    return reduce(Growth.__mul__, extents, _number(array.dtype.size)).positive()


def outgrown(arrays: Iterable[Array], allowed: Collection[Array]) -> frozenset[str]:
    """Return which `arrays` take more memory than `allowed` ones when sizes grow, by name.

    An array that takes as much as a part of an allowed one, as a row of a matrix, does not, nor
    does a row where a row is allowed; of those as large as allowed matrices and more, all together
    may take `MOST` times as much as these.
    """
    limit = reduce(Growth.__add__, map(memory, allowed), NOTHING)
    large: set[str] = set()
    as_large: dict[Monomial, list[tuple[str, Fraction]]] = {}
    for array in arrays:
        for monomial, by in memory(array).terms.items():
            if not any(_is_part(monomial, other) for other in limit.terms):
                if monomial and monomial not in limit.terms:
                    large.add(array.name)
                elif len(monomial) > 1:
                    as_large.setdefault(monomial, []).append((array.name, by))
    for monomial, found in as_large.items():
        if sum(by for _, by in found) > MOST * limit.terms[monomial]:
            large.update(name for name, _ in found)
    return frozenset(large)


def _is_part(one: Monomial, two: Monomial) -> bool:
    """Tell whether one product is another with factors left out."""
    return one != two and Counter(one) <= Counter(two)
