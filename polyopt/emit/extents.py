"""Bound the trip count of a loop by a constant, from a pair of its bounds; which rows are long.

In: a loop.  Out: a lower bound and a constant such that the loop ends before their sum, or None;
from which trip count on alignment and nontemporal stores pay.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.emit.helpers.memory import LINE
from polyopt.ir.expr import BinaryOp, Expr, operands, sub
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, For
from polyopt.ir.nodes import all_nodes

LONG = 16
"""Vectors from which on a row begins at an aligned address: in shorter ones its ends cost more."""

LONG_STREAM = 2048
"""Bytes from which on a row is stored past the caches, where a vector is a part of a line.

The lines at the row's ends are stored in part by ordinary stores: a line that gets both is written
to memory twice.  Where a vector fills a line, half of the usual length is enough.
"""


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


def long_row(loop: For) -> int:
    """Return from how many iterations on the loop begins at an aligned address."""
    return streamed_row(loop) if loop.streams else LONG * loop.lanes


def streamed_row(loop: For) -> int:
    """Return from how many iterations on it pays that the loop stores past the caches."""
    stores = [node for node in all_nodes(loop.body) if isinstance(node, Assign)]
    size = min(store.target.dtype.size for store in stores)
    return LONG // 2 * loop.lanes if loop.lanes * size >= LINE else LONG_STREAM // size
