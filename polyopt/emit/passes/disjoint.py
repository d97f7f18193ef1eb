"""Prove that two accesses inside loops never touch the same element.

In: two cells of one array and the loops around them, outermost first.
Out: True only when it is proven, from the bounds of the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import BinaryOp, Expr, Iter, Param, operands, sub
from polyopt.ir.linear import Linear, linear
from polyopt.ir.loops import For

MOST = 200  # bounds that are tried for one difference


class Access(Protocol):
    """`lanes` elements from `array[index]` on."""

    @property
    def index(self) -> tuple[Expr, ...]:
        """Subscripts."""

    @property
    def lanes(self) -> int:
        """Consecutive elements along the last dimension."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element by its subscripts."""

    index: tuple[Expr, ...]
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class LoopBox:
    """The loops around accesses, with a cache of bounds on differences of their subscripts."""

    loops: tuple[For, ...]
    known: dict[Linear, int | None] = field(default_factory=dict)

    def are_disjoint(self, one: Access, other: Access) -> bool:
        """Tell whether the cells differ in every iteration of the loops, the last one's too.

        The address of `one` does not change in the last loop: it is compared with all of `other`.
        """
        last = len(one.index) - 1
        for dim, (a, b) in enumerate(zip(one.index, other.index, strict=True)):
            if a == b:
                continue
            width_a = one.lanes if dim == last else 1
            width_b = other.lanes if dim == last else 1
            after, before = linear(sub(b, a)), linear(sub(a, b))
            if self._reaches(after, width_a) or self._reaches(before, width_b):
                return True
        return False

    def _reaches(self, difference: Linear, least: int) -> bool:
        found = self.least(difference)
        return found is not None and found >= least

    def least(self, sum_: Linear) -> int | None:
        """Return a constant that the sum is never below, or None where none is found."""
        if sum_ not in self.known:
            self.known[sum_] = _least(dict(sum_.terms), sum_.constant, self.loops, [MOST])
        return self.known[sum_]


def _least(
    terms: Mapping[Expr, int], constant: int, loops: Sequence[For], left: list[int]
) -> int | None:
    """Return the best constant bound: the innermost iterator is replaced by its own bounds."""
    if not terms:
        return constant
    left[0] -= 1
    if left[0] < 0 or not all(isinstance(atom, Iter | Param) for atom in terms):
        return None
    inner = next((n for n in range(len(loops) - 1, -1, -1) if Iter(loops[n].iter) in terms), None)
    if inner is None:
        return None
    loop = loops[inner]
    factor = terms[Iter(loop.iter)]
    rest = {atom: c for atom, c in terms.items() if atom != Iter(loop.iter)}
    best: int | None = None
    bound, op = (loop.lower, BinaryOp.MAX) if factor > 0 else (loop.upper, BinaryOp.MIN)
    for arm in map(linear, operands(bound, op)):
        total = dict(rest)
        for atom, c in arm.terms:
            total[atom] = total.get(atom, 0) + factor * c
        reached = constant + factor * (arm.constant - (factor < 0))
        found = _least({a: c for a, c in total.items() if c}, reached, loops[:inner], left)
        if found is not None and (best is None or found > best):
            best = found
    return best
