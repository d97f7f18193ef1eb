"""Which loops of two nests have about the same iterations.

In: two bands.  Out: how many of their outer loops do.
"""

from __future__ import annotations

import islpy as isl

from polyopt.schedule.tree import Band, BandMember

NEAR = 16  # iterations that one loop may have and the other not, at each end


def alike(domain: isl.UnionSet, one: Band, two: Band) -> int:
    """Return how many outer loops of the bands differ by a few iterations only, for all sizes.

    `domain` holds all instances.
    A joint loop over extents that have nothing to do with each other keeps nothing in a cache, and
    its body is cut into pieces.
    """
    count = 0
    for a, b in zip(one.members, two.members, strict=False):
        if not _are_near(_values(domain, a), _values(domain, b)):
            break
        count += 1
    return count


def _are_near(first: isl.UnionSet, second: isl.UnionSet) -> bool:
    here, there = first.intersect_params(second.params()), second.intersect_params(first.params())
    return here.is_subset(_widened(there)) and there.is_subset(_widened(here))


def _values(domain: isl.UnionSet, member: BandMember) -> isl.UnionSet:
    """Return the values that a loop takes."""
    times = isl.UnionMap.from_union_pw_aff(member.schedule)
    return times.intersect_domain(domain).range().coalesce()


def _widened(values: isl.UnionSet) -> isl.UnionSet:
    """Return what is at most `NEAR` away from one of `values`."""
    return values.apply(isl.UnionMap(f"{{ [x] -> [y] : x - {NEAR} <= y <= x + {NEAR} }}"))
