"""Split: run a loop's iterations below a point by one nest, the others by another.

In: a loop and a point, affine in sizes and outer loops.  Out: two copies of the nest from that loop
on, one after the other.  Refuses: a point that is not affine, that names no size or outer loop.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.parameters import param_aff, without_params
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    children,
    find_band,
    fresh_label,
    map_bands,
    path_to,
    statement_function,
    statements_of,
    with_children,
)
from polyopt.transforms.amount import Distance, names_in_amount, size_function
from polyopt.transforms.reference import loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Split(Written):
    """Run the iterations with `loop < at` first, then the others, each by a nest of its own.

    `at` is in the loop's own values, as the nest is printed.  Loops outside keep the band's label;
    the copies of the bands from the loop on are called `L0.low` and `L0.high` (index set splitting:
    Griebl, Feautrier, Lengauer, "Index set splitting", 2000).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Split("j", 8)))
    for i = i:  [L0[0]]  # carries no dependence
      for j = j:  [L0.low[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
      for j = j:  [L0.high[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    loop: str
    at: Distance

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the split tree; raises `ScheduleError` PO0301 to PO0303, PO0327."""
        ref = loop(tree, self.loop, str(self))
        assert ref.position is not None
        band = find_band(tree, ref.label)
        path, domain = path_to(tree, scop, ref.label)
        outer, inner = band.members[: ref.position], band.members[ref.position :]
        low = self._below(scop, domain, inner[0], (*path, *outer))
        halves = (("low", low), ("high", coalesced(domain.subtract(low))))
        parts = tuple(
            Filter(half, _copy(tree, replace(band, members=inner), name)) for name, half in halves
        )
        if outer:
            parts = (Filter(domain, Band(band.label, outer, Sequence(parts))),)
        return _spliced(tree, band, parts)

    def _below(
        self,
        scop: Scop,
        domain: isl.UnionSet,
        member: BandMember,
        above: tuple[BandMember, ...],
    ) -> isl.UnionSet:
        """Return the instances whose iteration of the loop comes before the point."""
        found = isl.UnionSet.empty(domain.get_space())
        for name in statements_of(scop, domain):
            space = scop.statement(name).domain.get_space()
            loops = self._loops(above, scop, name)
            at = size_function(self.at, _with_params(space, loops), str(self), (*loops,))
            below = statement_function(member, scop, name).lt_set(at)
            for loop_name, function in loops.items():
                value = isl.PwAff.from_aff(param_aff(loop_name, _with_params(space, loops)))
                below = below.intersect(function.eq_set(value))
            found = found.union(isl.UnionSet.from_set(without_params(below, loops)))
        return coalesced(domain.intersect(found))

    def _loops(
        self, above: tuple[BandMember, ...], scop: Scop, statement: str
    ) -> dict[str, isl.PwAff]:
        """Return the values of the loops outside that the point names; sizes come first."""
        found: dict[str, isl.PwAff] = {}
        for name in names_in_amount(self.at):
            members = [member for member in above if member.name == name]
            if not members or name in scop.params:
                continue
            if len(members) > 1:
                raise ScheduleError(
                    "PO0302", f"{self}: `{name}` names several loops outside", hint="use a size"
                )
            found[name] = statement_function(members[0], scop, statement)
        return found


def _with_params(space: isl.Space, names: dict[str, isl.PwAff]) -> isl.Space:
    for name in names:
        position = space.dim(isl.dim_type.param)
        space = space.add_dims(isl.dim_type.param, 1)
        space = space.set_dim_name(isl.dim_type.param, position, name)
    return space


def _copy(tree: Tree, band: Band, suffix: str) -> Tree:
    def rename(inner: Band) -> Tree:
        return replace(inner, label=fresh_label(tree, f"{inner.label}.{suffix}"))

    return map_bands(band, rename)


def _spliced(tree: Tree, band: Band, parts: tuple[Filter, ...]) -> Tree:
    """Return `tree` with `parts` in the place of `band`; a sequence around it takes them up."""
    if tree is band:
        return parts[0].child if len(parts) == 1 else Sequence(parts)
    if isinstance(tree, Sequence):
        around: list[Filter] = []
        for part in tree.parts:
            if part.child is band:
                around += (Filter(p.domain.intersect(part.domain), p.child) for p in parts)
            else:
                around.append(Filter(part.domain, _spliced(part.child, band, parts)))
        return Sequence(tuple(around))
    return with_children(tree, tuple(_spliced(child, band, parts) for child in children(tree)))
