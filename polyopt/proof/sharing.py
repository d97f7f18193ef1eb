"""Find elements that iterations of a concurrent loop share.

In: the loops, the elements that their runs access.  Out: a loop and an array, or None.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement as pairs_of

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import BinaryOp
from polyopt.ir.loops import CONCURRENT, For, LoopKind
from polyopt.proof.reading import Loop, Piece, Run, RunTree, all_runs

_ATOMIC = (LoopKind.BLOCK, LoopKind.THREAD)
_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Use:
    """An element that the iterations of a run access; `sums`: it accumulates by this operator."""

    run: Run
    place: isl.Map
    writes: bool
    sums: BinaryOp | None

    @property
    def array(self) -> str:
        """The name of the storage."""
        return str(self.place.get_tuple_name(_OUT))


def find_shared(
    nest: RunTree, uses: list[Use], unordered: frozenset[str]
) -> tuple[str, str] | None:
    """Return the iterator of a loop whose iterations conflict on an array, or None."""
    for loop in _concurrent(nest.body):
        runs = {id(run) for run in all_runs(loop.body)}
        below = [use for use in uses if id(use.run) in runs and use.array not in unordered]
        for array in sorted({use.array for use in below if use.writes}):
            if _is_shared(loop, [use for use in below if use.array == array]):
                return loop.loop.iter, array
    return None


def _concurrent(body: tuple[Piece, ...]) -> Iterator[Loop]:
    for piece in body:
        if isinstance(piece, Loop):
            if piece.loop.kind in CONCURRENT:
                yield piece
            yield from _concurrent(piece.body)


def _is_shared(loop: Loop, uses: list[Use]) -> bool:
    known = [(use, _is_private(loop.loop, use), _elements_seen(loop.depth, use)) for use in uses]
    whole = _around([seen for _, _, seen in known])
    if not _meet(loop.depth, whole, whole):
        return False
    for (one, one_own, one_seen), (two, two_own, two_seen) in pairs_of(known, 2):
        if not (one.writes or two.writes) or (one_own and two_own):
            continue
        if not (one_own or two_own) and _at_once(loop.loop, one, two):
            continue
        if _meet(loop.depth, one_seen, two_seen):
            return True
    return False


def _at_once(loop: For, one: Use, two: Use) -> bool:
    """Tell whether two uses are atomic updates by one operator."""
    both = one.run.is_atomic and two.run.is_atomic and loop.kind in _ATOMIC
    return both and one.sums is not None and one.sums is two.sums


def _is_private(loop: For, use: Use) -> bool:
    """Tell whether a use accumulates into a private copy of each thread or lane."""
    return use.sums is not None and any(
        operator is use.sums and symbol.name == use.array for operator, symbol in loop.reductions
    )


def _meet(depth: int, one: isl.Map, two: isl.Map) -> bool:
    """Tell whether two uses share an element in different iterations of a loop.

    `depth` loops are around it; `one` and `two` are their elements, in either order.
    """
    pairs = one.apply_range(two.reverse())
    for position in range(depth):
        pairs = pairs.equate(_IN, position, _OUT, position)
    earlier = pairs.order_lt(_IN, depth, _OUT, depth)
    later = pairs.order_gt(_IN, depth, _OUT, depth)
    return not (earlier.is_empty() and later.is_empty())


def _around(maps: list[isl.Map]) -> isl.Map:
    """Return one convex relation that contains all of `maps`.

    Copies of a loop's body access parts of an iteration's elements: one question for all of them
    replaces one for each pair.  Parts that make up one relation are joined first, which is quick
    where a hull of parts with rounded dimensions takes seconds.
    """
    first, *rest = maps
    for one in rest:
        first = first.union(one)
    return first.coalesce().simple_hull().to_map()


def _elements_seen(depth: int, use: Use) -> isl.Map:
    """Return `{ [outer iterators, iterator] -> element }`."""
    inner = use.place.dim(_IN) - depth - 1
    return use.place.project_out(_IN, depth + 1, inner).reset_tuple_id(_IN)
