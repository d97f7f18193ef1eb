"""Whether two accesses of a loop's body can never touch the same element.

In: two cells of one array and the loop.  Out: True only when it is proven.
"""

from __future__ import annotations

from typing import Protocol

from polyopt.ir.expr import (
    BinaryOp,
    Expr,
    Iter,
    add,
    integer,
    linear,
    operands,
    sub,
    substitute,
)
from polyopt.ir.loops import For


class Access(Protocol):
    """`lanes` elements from `array[index]` on."""

    @property
    def index(self) -> tuple[Expr, ...]:
        """Subscripts."""

    @property
    def lanes(self) -> int:
        """Consecutive elements along the last dimension."""


def are_disjoint(steady: Access, other: Access, loop: For) -> bool:
    """Tell whether `steady`, whose address does not change in `loop`, never meets `other`."""
    last = len(steady.index) - 1
    for dim, (a, b) in enumerate(zip(steady.index, other.index, strict=True)):
        width_a = steady.lanes if dim == last else 1
        width_b = other.lanes if dim == last else 1
        low, high = _distance(a, b, loop)
        if (low is not None and low >= width_a) or (high is not None and high <= -width_b):
            return True
    return False


def _distance(a: Expr, b: Expr, loop: For) -> tuple[int | None, int | None]:
    """Return constant bounds of `b - a` over the iterations of `loop`."""
    difference = linear(sub(b, a))
    factor = dict(difference.terms).get(Iter(loop.iter), 0)
    if not difference.terms:
        return difference.constant, difference.constant
    if factor == 0:
        return None, None
    first = operands(loop.lower, BinaryOp.MAX)
    last = tuple(add(arm, integer(-1)) for arm in operands(loop.upper, BinaryOp.MIN))
    lows, highs = (first, last) if factor > 0 else (last, first)
    at_low = [c for arm in lows if (c := _constant(sub(b, a), loop.iter, arm)) is not None]
    at_high = [c for arm in highs if (c := _constant(sub(b, a), loop.iter, arm)) is not None]
    return max(at_low, default=None), min(at_high, default=None)


def _constant(expr: Expr, name: str, value: Expr) -> int | None:
    result = linear(substitute(expr, {name: value}))
    return None if result.terms else result.constant
