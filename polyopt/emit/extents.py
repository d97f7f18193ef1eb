"""Bound the trip count of a loop by a constant, from a pair of its bounds.

In: a loop.  Out: a lower bound and a constant such that the loop ends before their sum, or None.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import BinaryOp, Expr, operands, sub
from polyopt.ir.linear import linear
from polyopt.ir.loops import For


@dataclass(frozen=True, slots=True)
class Extent:
    """Iterators are at least `origin` and less than `origin + size`."""

    origin: Expr
    size: int


def extent_of(loop: For) -> Extent | None:
    """Return the smallest extent that one pair of the loop's bounds gives."""
    best: Extent | None = None
    for low in operands(loop.lower, BinaryOp.MAX):
        for high in operands(loop.upper, BinaryOp.MIN):
            distance = linear(sub(high, low))
            if not distance.terms and (best is None or distance.constant < best.size):
                best = Extent(low, distance.constant)
    return best if best is not None and best.size > 0 else None
