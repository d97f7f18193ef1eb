"""Affine: replace the source's loops by those of isl's scheduler.

In: a Scop's dependences.  Out: a tree of permutable bands with as much parallelism and as short
dependences as one affine function per statement and loop can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, unique

import islpy as isl

from polyopt.errors import BudgetError, ScheduleError
from polyopt.ir.budget import exceeds_limit, query
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.isl_bridge import from_isl
from polyopt.schedule.legality import check_legal
from polyopt.schedule.source import relabel
from polyopt.schedule.tree import (
    Leaf,
    Sequence,
    Tree,
    children,
    statements_of,
    with_children,
)

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

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return isl's tree; raises `BudgetError` PO0701 when it takes too many operations."""
        dependences = dependences_of(scop)
        order = dependences.scheduling
        constraints = (
            isl.ScheduleConstraints.on_domain(scop.domain)
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
        found = relabel(from_isl(schedule, scop))
        textual = relabel(_textual(found, scop))
        return found if check_legal(scop, dependences, textual) is not None else textual

    def __str__(self) -> str:
        return f"affine({self.fusion.value})"


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
