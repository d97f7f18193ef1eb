"""Version: run a program by different nests of loops for different sizes.

In: bounds of amounts that are affine in the sizes.  Out: a copy of the tree for each bound, and one
for the sizes that are above all of them; the sizes at a call choose one.
Refuses: an amount that names no size of the program.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import (
    Band,
    Filter,
    Sequence,
    Tree,
    children,
    fresh_label,
    map_bands,
    with_children,
)
from polyopt.transforms.amount import Distance, size_function
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Bound:
    """The sizes for which `amount <= most`."""

    amount: Distance
    most: int

    def __str__(self) -> str:
        return f"{self.amount} <= {self.most}"


@dataclass(frozen=True, slots=True)
class Version(Written):
    """Run the first copy of the program for which the sizes are within its bound, else the last.

    The copies of the bands are called `L0.v0`, `L0.v1`, ….  Each instance belongs to one copy, so
    that each can be scheduled on its own (as in Byler et al., "Multiple version loops", 1987).

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.amount import amount
    >>> print(demo().apply(Version((Bound(amount("N"), 8),))))
    for i = i:  [L0.v0[0]]  # carries no dependence, permutable band
      for j = j:  [L0.v0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    for i = i:  [L0.v1[0]]  # carries no dependence, permutable band
      for j = j:  [L0.v1[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    bounds: tuple[Bound, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree of all versions; raises `ScheduleError` PO0327."""
        rest = scop.domain
        parts = []
        for bound in self.bounds:
            own = coalesced(rest.intersect_params(_sizes(bound, rest, str(self))))
            parts.append(own)
            rest = coalesced(rest.subtract(own))
        parts = [part for part in (*parts, rest) if not part.is_empty()]
        if len(parts) < 2:
            raise ScheduleError(
                "PO0327",
                f"{self}: all sizes of the program belong to one version",
                hint="use a bound that some sizes satisfy and others do not",
            )
        copies = (_copy(tree, tree, part, f"v{number}") for number, part in enumerate(parts))
        return Sequence(tuple(map(Filter, parts, copies)))


def _sizes(bound: Bound, domain: isl.UnionSet, step: str) -> isl.Set:
    """Return the sizes within a bound."""
    space = domain.get_space().params()
    most = isl.Aff.val_on_domain(isl.LocalSpace.from_space(space), isl.Val(bound.most))
    return size_function(bound.amount, space, step).le_set(isl.PwAff.from_aff(most))


def _copy(whole: Tree, tree: Tree, domain: isl.UnionSet, suffix: str) -> Tree:
    """Return a copy of `tree`, a part of `whole`, for the instances in `domain`."""

    def rename(band: Band) -> Tree:
        return replace(band, label=fresh_label(whole, f"{band.label}.{suffix}"))

    return _restricted(map_bands(tree, rename), domain)


def _restricted(tree: Tree, domain: isl.UnionSet) -> Tree:
    parts = tuple(_restricted(child, domain) for child in children(tree))
    renewed = with_children(tree, parts)
    if isinstance(renewed, Filter):
        return replace(renewed, domain=coalesced(renewed.domain.intersect(domain)))
    return renewed
