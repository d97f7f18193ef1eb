"""Affine: replace the source's loops, or those of one nest, by those of isl's scheduler.

In: a Scop's dependences.  Out: a tree of permutable bands with as much parallelism and as short
dependences as one affine function per statement and loop can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, unique
from itertools import chain, count

import islpy as isl

from polyopt import schedule as scheduling
from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError, ScheduleError
from polyopt.ir.budget import exceeds_limit, query
from polyopt.ir.scop import Role, Scop
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.isl_bridge import from_isl
from polyopt.schedule.legality import check_legal
from polyopt.schedule.source import relabel
from polyopt.schedule.tree import (
    Band,
    Leaf,
    Sequence,
    Tree,
    bands,
    children,
    find_band,
    member_map,
    path_to,
    replace_band,
    statements_of,
    with_children,
)
from polyopt.transforms.distribute import flat

BUDGET = 500_000  # isl operations, about a second; PolyBench's programs take under 100,000


@unique
class Fusion(Enum):
    """Which statements may share loops."""

    MAX = "max"  # all that dependences allow
    MIN = "min"  # only those of one strongly connected component


@dataclass(frozen=True, slots=True)
class Affine:
    """Compute a new schedule by the isl scheduler.

    It is a Pluto-style scheduler (Bondhugula, Hartono, Ramanujam, Sadayappan, "A practical
    automatic polyhedral parallelizer and locality optimizer", 2008) with Feautrier's as fallback
    (Verdoolaege and Janssens, "Scheduling for PPCG", 2017).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo(2).apply(Affine()))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
        S1: A2[i, j] = A1[i, j]
    """

    fusion: Fusion = Fusion.MAX
    band: str = ""
    """The nest that gets new loops, in each iteration of those around it; all when empty."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return isl's tree; raises `BudgetError` PO0701 when it takes too many operations.

        The bands of a nest are called `L2`, `L2.1`, `L2.2`, ….
        """
        dependences = dependences_of(scop)
        if not self.band:
            grouped = self._in_groups(scop, dependences.scheduling)
            if grouped is not None and check_legal(scop, dependences, grouped) is None:
                return grouped
            found = relabel(self._scheduled(scop, scop.domain, dependences.scheduling))
            textual = relabel(_textual(found, scop))
            return found if check_legal(scop, dependences, textual) is not None else textual
        find_band(tree, self.band)
        path, domain = path_to(tree, scop, self.band)
        within = isl.UnionMap.from_domain_and_range(domain, domain)
        for loop in path:
            value = member_map(loop, domain)
            within = within.intersect(value.apply_range(value.reverse()))
        found = self._scheduled(scop, domain, dependences.scheduling.intersect(within))
        ordered = (self._replaced(tree, part) for part in (_textual(found, scop), found))
        first = next(ordered)
        return first if check_legal(scop, dependences, first) is None else next(ordered)

    def _in_groups(self, scop: Scop, order: isl.UnionMap) -> Tree | None:
        """Return isl's tree with the statements that belong to one iteration as one.

        None without such statements, and where their loops are not all in the outermost band.
        """
        if not any(array.role is Role.TEMP for array in scop.arrays):
            return None
        by_groups = scheduling.statement_groups
        groups = by_groups.groups_of(scop, order)
        if not groups:
            return None
        domain, pairs = by_groups.merged(scop.domain, order, groups)
        try:
            found = flat(by_groups.expanded(self._scheduled(scop, domain, pairs), groups))
        except (BudgetError, ScheduleError):
            return None
        deepest = max(len(group[0].iters) for group in groups)
        is_deep = isinstance(found, Band) and len(found.members) >= deepest
        return relabel(found) if is_deep else None

    def _replaced(self, tree: Tree, nest: Tree) -> Tree:
        """Return `tree` with the nest in the place of the band."""
        taken = {band.label for band in bands(tree)}
        free = (f"{self.band}.{n}" for n in count(1))
        fresh = chain([self.band], (label for label in free if label not in taken))
        return flat(replace_band(tree, self.band, lambda _: relabel(nest, fresh)))

    def _scheduled(self, scop: Scop, domain: isl.UnionSet, order: isl.UnionMap) -> Tree:
        constraints = (
            isl.ScheduleConstraints.on_domain(domain)
            .set_context(scop.context)
            .set_validity(order)
            .set_coincidence(order)
            .set_proximity(order)
        )
        try:
            with scheduler_options(self.fusion), query("the affine scheduler", BUDGET):
                schedule = constraints.compute_schedule()
        except isl.Error as error:
            if exceeds_limit(error):
                raise
            reason = str(error).partition(" in /")[0].rpartition(": ")[2]
            raise ScheduleError(
                "PO0307",
                f"{self}: the affine scheduler found no schedule ({reason})",
                hint="name the transformations one by one",
            ) from None
        if schedule is None:
            raise BudgetError("PO0701", "the affine scheduler gave up")
        return from_isl(schedule, scop, domain)

    def __str__(self) -> str:
        nest = f", {self.band}" if self.band else ""
        return f"affine({self.fusion.value}{nest})"


def _textual(tree: Tree, scop: Scop) -> Tree:
    """Return `tree` with the statements of every innermost sequence in the source's order."""
    parts = tuple(_textual(child, scop) for child in children(tree))
    renewed = with_children(tree, parts)
    if not isinstance(renewed, Sequence):
        return renewed
    if not all(isinstance(part.child, Leaf) for part in renewed.parts):
        return renewed
    names = [statement.name for statement in scop.statements]
    order = sorted(renewed.parts, key=lambda part: names.index(statements_of(scop, part.domain)[0]))
    return Sequence(tuple(order))


@contextmanager
def scheduler_options(fusion: Fusion) -> Iterator[None]:
    """Set isl's scheduler options inside the block and restore them after it."""
    context = isl.DEFAULT_CONTEXT
    serialize = context.get_schedule_serialize_sccs()
    outer = context.get_schedule_outer_coincidence()
    depth = context.get_schedule_maximize_band_depth()
    error = context.get_on_error()
    context.set_schedule_serialize_sccs(1 if fusion is Fusion.MIN else 0)
    context.set_schedule_outer_coincidence(0)
    context.set_schedule_maximize_band_depth(1)
    try:
        yield
    finally:
        context.set_schedule_serialize_sccs(serialize)
        context.set_schedule_outer_coincidence(outer)
        context.set_schedule_maximize_band_depth(depth)
        context.set_on_error(error)
