"""Compute the skews after which no dependence has a negative distance in any loop of a band.

In: the loops of a band, the pairs they have to order.  Out: factors, the least that work.
Refuses (None): a distance that no multiple of the outer loops makes nonnegative.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced
from polyopt.ir.parameters import sets_of
from polyopt.schedule.tree import BandMember

MAX_FACTOR = 64


@dataclass(frozen=True, slots=True)
class Factor:
    """Loop `loop` of the band becomes `loop + factor * by`, both being positions."""

    loop: int
    by: int
    factor: int


def permuting_factors(
    members: Sequence[BandMember], pairs: isl.UnionMap
) -> tuple[Factor, ...] | None:
    """Return the skews, in order, after which no pair is negative in any loop, or None.

    Loop by loop from outside in, as Wolfe's "Loop skewing: the wavefront method revisited" (1986):
    pairs that the outer loops leave equal are ordered by the nearest loop that separates them.
    """
    found: list[Factor] = []
    distances = distance_vectors(members, pairs)
    for loop in range(len(members)):
        for by in reversed(range(loop)):
            factor = _least(distances, loop, by)
            if factor is None:
                return None
            if factor:
                found.append(Factor(loop, by, factor))
                distances = _skewed(distances, loop, by, factor)
        if not _negative(distances, loop, range(0)).is_empty():
            return None
    return tuple(found)


def distance_vectors(members: Sequence[BandMember], pairs: isl.UnionMap) -> isl.Set:
    """Return the distances of `pairs` in the loops, as vectors of one anonymous space."""
    function = isl.MultiUnionPwAff.from_union_pw_aff(members[0].schedule)
    for member in members[1:]:
        more = isl.MultiUnionPwAff.from_union_pw_aff(member.schedule)
        function = function.flat_range_product(more)
    times = isl.UnionMap.from_multi_union_pw_aff(function)
    deltas = pairs.apply_domain(times).apply_range(times).deltas()
    pieces = sets_of(deltas)
    if not pieces:
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(members))
        return isl.Set.empty(space)
    vectors = pieces[0]
    count = vectors.dim(isl.dim_type.param)
    return coalesced(vectors.project_out(isl.dim_type.param, 0, count))


def _least(distances: isl.Set, loop: int, by: int) -> int | None:
    """Return the least factor after which no vector that `by` separates first is negative."""
    equal = range(by)
    ahead = _fixed(distances, equal)
    if _negative(ahead, loop, range(0)).is_empty():
        return 0
    ahead = ahead.lower_bound_val(isl.dim_type.set, by, isl.Val(1))

    def works(factor: int) -> bool:
        return bool(_negative(_skewed(ahead, loop, by, factor), loop, range(0)).is_empty())

    if works(0):
        return 0
    if not works(MAX_FACTOR):
        return None
    low, high = 0, MAX_FACTOR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _fixed(distances: isl.Set, loops: range) -> isl.Set:
    for loop in loops:
        distances = distances.fix_val(isl.dim_type.set, loop, isl.Val(0))
    return distances


def _negative(distances: isl.Set, loop: int, equal: range) -> isl.Set:
    return _fixed(distances, equal).upper_bound_val(isl.dim_type.set, loop, isl.Val(-1))


def _skewed(distances: isl.Set, loop: int, by: int, factor: int) -> isl.Set:
    """Return the vectors after `loop` became `loop + factor * by`."""
    space = distances.get_space()
    local = isl.LocalSpace.from_space(space)
    rank = distances.dim(isl.dim_type.set)
    affs = [isl.Aff.var_on_domain(local, isl.dim_type.set, d) for d in range(rank)]
    affs[loop] = affs[loop].add(affs[by].scale_val(isl.Val(factor)))
    skew = isl.MultiAff.from_aff_list(space.map_from_set(), _list(affs))
    return distances.apply(isl.Map.from_multi_aff(skew))


def _list(affs: list[isl.Aff]) -> isl.AffList:
    found = isl.AffList.alloc(isl.DEFAULT_CONTEXT, len(affs))
    for aff in affs:
        found = found.add(aff)
    return found
