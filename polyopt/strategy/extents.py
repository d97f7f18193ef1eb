"""Compare the ranges of two nests' loops, and count the extents that grow with the problem.

In: two bands, or a loop of each; an array.  Out: the number of similar outer loops, or whether two
loops are similar; the number of extents that are not constant.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.expr import Const
from polyopt.ir.scop import Array
from polyopt.schedule.tree import Band, BandMember

NEAR = 16  # iterations that one loop may have and the other not, at each end


def count_similar_loops(domain: isl.UnionSet, one: Band, two: Band) -> int:
    """Return how many outer loops of the bands differ by at most a few iterations, for all sizes.

    `domain` holds all instances.
    A fused loop over unrelated extents keeps nothing in a cache, and its body is split into pieces.
    """
    count = 0
    for a, b in zip(one.members, two.members, strict=False):
        if not are_similar(domain, a, b):
            break
        count += 1
    return count


def are_similar(domain: isl.UnionSet, one: BandMember, two: BandMember) -> bool:
    """Tell whether two loops differ by at most a few iterations, for all sizes."""
    return are_near(values_of(domain, one), values_of(domain, two))


def are_near(first: isl.UnionSet, second: isl.UnionSet) -> bool:
    """Tell whether values differ by at most a few at each end, wherever both have some."""
    here, there = first.intersect_params(second.params()), second.intersect_params(first.params())
    return here.is_subset(_widened(there)) and there.is_subset(_widened(here))


def share_iterations(domain: isl.UnionSet, one: BandMember, two: BandMember) -> bool:
    """Tell whether two loops share more than a few iterations, or are similar."""
    both = values_of(domain, one).intersect(values_of(domain, two))
    away = both.apply(isl.UnionMap(f"{{ [x] -> [x + {NEAR}] }}"))
    return not both.intersect(away).is_empty() or are_similar(domain, one, two)


def values_of(domain: isl.UnionSet, member: BandMember) -> isl.UnionSet:
    """Return the values of a loop."""
    times = isl.UnionMap.from_union_pw_aff(member.schedule)
    return times.intersect_domain(domain).range().coalesce()


def _widened(values: isl.UnionSet) -> isl.UnionSet:
    """Return all numbers at most `NEAR` away from one of `values`."""
    return values.apply(isl.UnionMap(f"{{ [x] -> [y] : x - {NEAR} <= y <= x + {NEAR} }}"))


def growing_rank(array: Array) -> int:
    """Return the number of extents of an array that are not constant."""
    return sum(not isinstance(extent, Const) for extent in array.shape)


def constant_extent(member: BandMember, domain: isl.UnionSet) -> int | None:
    """Return the maximal trip count of a loop, where it is constant."""
    values = isl.UnionMap.from_union_pw_aff(member.schedule).intersect_domain(domain).range()
    if values.is_empty():
        return 1
    line = isl.Set.from_union_set(values)
    if not (
        line.dim_has_any_lower_bound(isl.dim_type.set, 0)
        and line.dim_has_any_upper_bound(isl.dim_type.set, 0)
    ):
        return None
    low, high = line.dim_min_val(0), line.dim_max_val(0)
    if not (low.is_int() and high.is_int()):
        return None
    return int(high.to_python()) - int(low.to_python()) + 1
