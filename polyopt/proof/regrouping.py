"""Compare sums of products that may be regrouped: as polynomials over the same values.

In: an expression of the source, one of the loops, how to compare their atoms.  Out: nothing;
`NotRegrouped` where a monomial differs by more than roundings of its constants.
A value in other storage is paired with the atom of the source that occurs in monomials with the
same coefficients, in the order of subscripts; the pairs are compared like any other values.
Loops that a library computes are a product, whose terms may be added in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from polyopt.dataclass import dataclass, field
from polyopt.ir.blas import NoProduct, nest_of
from polyopt.ir.expr import Expr, Load
from polyopt.ir.linear import linear
from polyopt.ir.loops import Body, For, LoopKind
from polyopt.ir.nodes import bodies
from polyopt.ir.sums import Polynomial, TooLong, is_polynomial, polynomial
from polyopt.ir.types import DType
from polyopt.proof.certificate import Unclaimable

Compare = Callable[[Expr, Expr], None]


class NotRegrouped(Exception):
    """Two expressions are different polynomials."""


def compare_polynomials(
    want: Expr,
    found: Expr,
    normal: Callable[[Expr], Expr],
    here: Callable[[Expr], Expr],
    compare: Compare,
    *,
    moves: bool,
) -> None:
    """Check that `found` is `want` regrouped; raises `NotRegrouped` and what `compare` raises.

    `normal` makes the subscripts of an expression of the loops comparable, `here` takes one of the
    source to the same names.  `compare` checks atoms: the source's first.  `moves`: some may be in
    other storage.
    """
    if want.dtype is not found.dtype or not (is_polynomial(want) or is_polynomial(found)):
        raise NotRegrouped
    wanted = _Atoms(lambda e: normal(here(e)))
    others = _Atoms(normal)
    try:
        one = polynomial(want, wanted.number)
        two = polynomial(found, others.number)
    except TooLong:
        raise NotRegrouped from None
    pairs = _paired(wanted, one, others, two, moves)
    renumbered = {tuple(sorted(pairs[n] for n in key)): value for key, value in two.items()}
    if renumbered.keys() != one.keys() or len(renumbered) != len(two):
        raise NotRegrouped
    for key, factor in one.items():
        if not _is_rounded(factor, renumbered[key], want.dtype):
            raise NotRegrouped
    for position, number in pairs.items():
        compare(wanted.exprs[number], others.exprs[position])


@dataclass(eq=False)
class _Atoms:
    """Numbers atoms by their normal forms; `exprs` are the atoms themselves."""

    normal: Callable[[Expr], Expr]
    numbers: dict[Expr, int] = field(default_factory=dict)
    exprs: list[Expr] = field(default_factory=list)

    def number(self, expr: Expr) -> int:
        """Return the number of an atom."""
        key = self.normal(expr)
        if key not in self.numbers:
            self.numbers[key] = len(self.exprs)
            self.exprs.append(expr)
        return self.numbers[key]


def _paired(
    wanted: _Atoms, one: Polynomial, others: _Atoms, two: Polynomial, moves: bool
) -> dict[int, int]:
    """Return the number of the source's atom for that of each other; raises `NotRegrouped`."""
    if len(wanted.exprs) != len(others.exprs):
        raise NotRegrouped
    pairs = {n: wanted.numbers[e] for e, n in others.numbers.items() if e in wanted.numbers}
    if not moves and any(
        isinstance(e, Load) for e in wanted.numbers.keys() - others.numbers.keys()
    ):
        raise NotRegrouped
    taken = set(pairs.values())
    left = [n for n in range(len(wanted.exprs)) if n not in taken]
    moved = [n for n in range(len(others.exprs)) if n not in pairs]
    left.sort(key=lambda n: (_uses(n, one), _place(wanted, n)))
    moved.sort(key=lambda n: (_uses(n, two), _place(others, n)))
    return pairs | dict(zip(moved, left, strict=True))


def _uses(number: int, found: Polynomial) -> list[tuple[int, str]]:
    """Return the degrees and coefficients of the monomials that an atom is in."""
    mine = [(len(key), f"{float(value):.6e}") for key, value in found.items() if number in key]
    return sorted(mine)


def _place(atoms: _Atoms, number: int) -> tuple[str, tuple[int, ...]]:
    """Return the kind of an atom and the constants of its subscripts."""
    expr = atoms.exprs[number]
    normal = next(e for e, n in atoms.numbers.items() if n == number)
    index = normal.index if isinstance(normal, Load) else ()
    return type(expr).__name__, tuple(linear(part).constant for part in index)


def _is_rounded(want: Fraction, found: Fraction, dtype: DType) -> bool:
    """Tell whether a coefficient is another with the error of two roundings."""
    unit = Fraction(1, 2 ** (24 if dtype is DType.FLOAT32 else 53))
    return abs(found - want) <= 2 * unit * abs(want)


class NoLibrary(Unclaimable):
    """Loops that are marked for a library, and that it does not compute."""


def check_products(body: Body, reassociable: frozenset[str]) -> None:
    """Check the nests of kind LIBRARY; raises `NoLibrary`."""
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.LIBRARY):
            for part in bodies(node):
                check_products(part, reassociable)
            continue
        try:
            name = nest_of(node).assign.statement
        except NoProduct as error:
            raise NoLibrary(node.iter, f"a library does not compute its loops: {error}") from None
        if name not in reassociable:
            raise NoLibrary(node.iter, f"the order in which {name or 'it'} adds is not open")
