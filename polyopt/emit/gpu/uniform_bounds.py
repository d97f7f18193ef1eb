"""Make the bounds of a thread loop invariant in the sequential loops around it.

In: a loop across threads whose bounds depend on loops that the block runs in order.  Out: the loop
with the least and the greatest bounds, a constant extent, and guards.
Refuses (None): loops of which such an extent would be more than `LARGEST`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from polyopt.dataclass import replace
from polyopt.emit.gpu.grids import boxed
from polyopt.emit.gpu.nests import spans
from polyopt.ir.expr import BinaryOp, Expr, Iter, operands, walk
from polyopt.ir.loops import For

LARGEST = 256
"""Iterations that such a loop may have."""
CHOICES = 16
"""Bounds of the loops around that are tried."""


def with_uniform_bounds(loop: For, around: tuple[For, ...]) -> tuple[For, tuple[Expr, ...]] | None:
    """Return the loop with bounds that are invariant in `around`, and its guards."""
    used = {
        p.name for bound in (loop.lower, loop.upper) for p in walk(bound) if isinstance(p, Iter)
    }
    own = [other for other in around if other.iter in used]
    best: tuple[int, For, tuple[Expr, ...]] | None = None
    for chosen in islice(_choices(own), CHOICES):
        found = boxed(loop, chosen)
        if found is None:
            continue
        extents = [length for _, length in spans(found[0])]
        if extents and 0 < min(extents) <= LARGEST and (best is None or min(extents) < best[0]):
            best = (min(extents), *found)
    return None if best is None else best[1:]


def _choices(around: list[For]) -> Iterator[list[For]]:
    """Yield the loops with one of their lower and one of their upper bounds each."""
    for bounds in product(*(_bounds(loop) for loop in around)):
        yield list(bounds)


def _bounds(loop: For) -> list[For]:
    return [
        replace(loop, lower=lower, upper=upper)
        for lower in operands(loop.lower, BinaryOp.MAX)
        for upper in operands(loop.upper, BinaryOp.MIN)
    ]
