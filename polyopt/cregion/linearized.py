"""Arrays of several dimensions that C programs subscript by one number: `A[i * n + j]`.

In: the subscripts of a one-dimensional array.  Out: its extents and subscripts per dimension.
The strides are products of sizes that variables are multiplied with, each a multiple of the next
smaller one (Grosser et al., "Optimistic Delinearization of Parametrically Sized Arrays", ICS 2015).
That each subscript is smaller than its extent is a condition of the result, checked where it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from polyopt.cregion.syntax import Unit, field, is_word
from polyopt.dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

Monomial: TypeAlias = tuple[str, ...]
Polynomial: TypeAlias = Mapping[Monomial, int]


@dataclass(frozen=True, slots=True)
class Unfolded:
    """Extents of all dimensions but the first, and subscripts by the place of the element."""

    extents: tuple[Monomial, ...]
    subscripts: Mapping[int, tuple[str, ...]]


def unfolded(
    unit: Unit, elements: Sequence[Node], known: Collection[str], counters: Collection[str]
) -> Unfolded | None:
    """Return the dimensions of an array; None where its subscripts are affine or show none.

    `known` are integers that stay as they are, `counters` those of them that loops count.
    """
    found: dict[int, Polynomial] = {}
    for element in elements:
        polynomial = _polynomial(unit, field(element, "index"), known)
        if polynomial is None:
            return None
        found[element.start_byte] = polynomial
    strides = _strides(found.values(), counters)
    if not strides:
        return None
    subscripts: dict[int, tuple[str, ...]] = {}
    for place, polynomial in found.items():
        parts = _divided(polynomial, strides)
        if any(_degree(part, counters) > 1 for part in parts):
            return None
        subscripts[place] = tuple(map(_text, parts))
    extents = [_without(one, next_) for one, next_ in pairwise(strides)]
    return Unfolded((*extents, strides[-1]), subscripts)


def _polynomial(unit: Unit, node: Node, known: Collection[str]) -> Polynomial | None:
    match node.type:
        case "parenthesized_expression":
            return _polynomial(unit, next(c for c in node.children if is_word(c)), known)
        case "identifier":
            name = unit.source(node)
            return {(name,): 1} if name in known else None
        case "number_literal":
            text = unit.source(node)
            return {(): int(text)} if text.isdecimal() and (text == "0" or text[0] != "0") else None
        case "unary_expression" if unit.source(field(node, "operator")) == "-":
            inner = _polynomial(unit, field(node, "argument"), known)
            return None if inner is None else {m: -c for m, c in inner.items()}
        case "binary_expression":
            left = _polynomial(unit, field(node, "left"), known)
            right = _polynomial(unit, field(node, "right"), known)
            if left is None or right is None:
                return None
            match unit.source(field(node, "operator")):
                case "+":
                    return _sum(left, right, 1)
                case "-":
                    return _sum(left, right, -1)
                case "*":
                    return _product(left, right)
    return None


def _sum(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    total = dict(left)
    for monomial, factor in right.items():
        total[monomial] = total.get(monomial, 0) + sign * factor
    return total


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: dict[Monomial, int] = {}
    for one, factor in left.items():
        for two, other in right.items():
            monomial = tuple(sorted((*one, *two)))
            total[monomial] = total.get(monomial, 0) + factor * other
    return total


def _strides(found: Collection[Polynomial], counters: Collection[str]) -> list[Monomial]:
    """Return what variables are multiplied with, largest first; nothing where these do not nest."""
    strides = {
        tuple(name for name in monomial if name not in counters)
        for polynomial in found
        for monomial, factor in polynomial.items()
        if factor and any(name in counters for name in monomial)
    } - {()}
    ordered = sorted(strides, key=len, reverse=True)
    for one, next_ in pairwise(ordered):
        if len(one) == len(next_) or Counter(next_) - Counter(one):
            return []
    return ordered


def _divided(polynomial: Polynomial, strides: Sequence[Monomial]) -> list[Polynomial]:
    """Return the quotients by the strides, one after the other, and what is left."""
    parts: list[Polynomial] = []
    rest = dict(polynomial)
    for stride in strides:
        quotient: dict[Monomial, int] = {}
        for monomial in list(rest):
            if not Counter(stride) - Counter(monomial):
                quotient[_without(monomial, stride)] = rest.pop(monomial)
        parts.append(quotient)
    return [*parts, rest]


def _without(monomial: Monomial, part: Monomial) -> Monomial:
    return tuple((Counter(monomial) - Counter(part)).elements())


def _degree(polynomial: Polynomial, counters: Collection[str]) -> int:
    """Return the highest degree of a monomial with a counter in it."""
    return max(
        (len(m) for m, c in polynomial.items() if c and any(n in counters for n in m)), default=0
    )


def _text(polynomial: Polynomial) -> str:
    terms = [" * ".join((str(c), *m)) for m, c in polynomial.items() if c]
    return " + ".join(terms).replace("+ -", "- ") or "0"
