"""Peel: split a loop at the one iteration that all others depend on.

In: a loop all of whose carried dependences access one iteration.  Out: three loops in sequence: the
iterations before it, itself, those after it.
Refuses: a loop without such an iteration.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import DependenceKind, dependences_of
from polyopt.schedule.legality import carried_pairs
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    find_band,
    fresh_label,
    map_bands,
    path_to,
    replace_band,
    tuple_names,
)
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Peel(Written):
    """Split the first loop of `band`, with all below it, at the one iteration others depend on.

    The three copies of the band are called `L0.before`, `L0.at`, `L0.after` (index set splitting:
    Griebl, Feautrier, Lengauer, "Index set splitting", 2000).
    """

    band: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the split tree; raises `ScheduleError` PO0301, PO0308."""
        band = find_band(tree, self.band)
        path, domain = path_to(tree, scop, self.band)
        names = frozenset(tuple_names(domain))
        pivots = self._pivots(tree, scop, band, names).intersect(domain)
        if not _is_single(band.members[0], path, pivots):
            raise ScheduleError(
                "PO0308",
                f"{self}: the loop's dependences do not all touch one iteration",
                hint="only a loop that one iteration keeps from being parallel can be peeled",
            )
        value = isl.MultiUnionPwAff.from_union_pw_aff(band.members[0].schedule)
        others = _equal_outside(path, domain).intersect_range(pivots)
        before = others.lex_lt_at_multi_union_pw_aff(value).domain()
        after = others.lex_gt_at_multi_union_pw_aff(value).domain()
        at = domain.subtract(before).subtract(after)
        parts = []
        for name, part in (("before", before), ("at", at), ("after", after)):
            copy = _renamed(tree, band, name)
            parts.append(Filter(coalesced(part), copy))
        return replace_band(tree, self.band, lambda _: Sequence(tuple(parts)))

    def _pivots(self, tree: Tree, scop: Scop, band: Band, names: frozenset[str]) -> isl.UnionSet:
        """Return the sources of the dependences that the loop carries."""
        dependences = dependences_of(scop)
        carried = carried_pairs(dependences, tree, band.label, 0)
        found = isl.UnionSet.empty(carried.get_space())
        for dependence in dependences.among(names):
            pairs = carried.intersect(isl.UnionMap.from_map(dependence.relation))
            if dependence.kind is not DependenceKind.ANTI:
                found = found.union(pairs.domain())
            if dependence.kind is not DependenceKind.FLOW:
                found = found.union(pairs.range())
        return found


def _equal_outside(path: tuple[BandMember, ...], domain: isl.UnionSet) -> isl.UnionMap:
    """Return the pairs of instances on which all the loops above agree."""
    every = isl.UnionMap.from_domain_and_range(domain, domain)
    for member in path:
        every = every.eq_at_multi_union_pw_aff(
            isl.MultiUnionPwAff.from_union_pw_aff(member.schedule)
        )
    return every


def _is_single(member: BandMember, path: tuple[BandMember, ...], pivots: isl.UnionSet) -> bool:
    """Tell whether the pivots have one value of the loop in each iteration of the loops above."""
    if pivots.is_empty():
        return False
    values = _map_of(member)
    if not path:
        return bool(isl.UnionMap.from_range(pivots.apply(values)).is_single_valued())
    outer = reduce(isl.UnionMap.flat_range_product, map(_map_of, path))
    found = outer.intersect_domain(pivots).reverse().apply_range(values)
    return bool(coalesced(found).is_single_valued())  # isl compares each two pieces


def _map_of(member: BandMember) -> isl.UnionMap:
    """Return { instance -> value of the loop }."""
    return isl.UnionMap.from_multi_union_pw_aff(
        isl.MultiUnionPwAff.from_union_pw_aff(member.schedule)
    )


def _renamed(tree: Tree, band: Band, suffix: str) -> Tree:
    def rename(inner: Band) -> Tree:
        label = fresh_label(tree, f"{inner.label}.{suffix}")
        return Band(label, inner.members, inner.child)

    return map_bands(band, rename)
