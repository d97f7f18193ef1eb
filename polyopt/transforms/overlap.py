"""Overlap: run several time steps of a stencil in one tile, which recomputes its halo.

In: a loop over time steps, their number, the sizes of tiles.  Out: two nests of tiles, ping-pong
buffered: each copies a tile and its halo in, runs the time steps on the copy, and copies the tile
out, one nest into a second array, the other one back.
Refuses (PO0344): statements that read at distances that are not constant, or their own results.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Iter
from polyopt.ir.scop import Origin, Scop
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.sizes import Size, value_of
from polyopt.schedule.tree import Tree
from polyopt.transforms.halo import NoHalo
from polyopt.transforms.overlapped_tiling import OverlapPlan
from polyopt.transforms.ping_pong import place_phases
from polyopt.transforms.reference import loop
from polyopt.transforms.region import enter
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Overlap(DataStep, Written):
    """Run `steps` iterations of `loop` in one tile of `sizes` elements (Krishnamoorthy et al.,
    "Effective automatic parallelization of stencil computations", 2007).

    Each tile recomputes its halo on a copy of its own.
    """

    loop: str
    steps: Size
    sizes: tuple[Size, ...]

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0332, PO0344.
        """
        plan = self.plan(tree, scop)
        region = plan.region
        try:
            made, whole = plan.phases(str(self))
        except NoHalo as error:
            raise self._refused(error) from error
        new, placed_tree = place_phases(region, made, whole)
        copies = {s.name for phase in made.phases for s in (*phase.before, *phase.after)}
        copies |= {statement.name for statement in made.first}
        same = {n: o for n, o in region.same.items() if n not in region.values}
        recomputed: set[str] = set()
        for phase in made.phases:
            for statement, old in zip(phase.steps, made.olds, strict=True):
                own = Origin(old.name, tuple(map(Iter, old.iters)))
                same[statement.name] = region.same.get(old.name, own)
                recomputed.add(statement.name)
        return RewrittenProgram(
            new, placed_tree, same, frozenset(copies), recomputed=frozenset(recomputed)
        )

    def plan(self, tree: Tree, scop: Scop) -> OverlapPlan:
        """Return the plan of the step; raises as `renew` does."""
        steps, sizes = value_of(self.steps), tuple(map(value_of, self.sizes))
        if min((steps, *sizes)) < 1 or not sizes:
            raise ScheduleError(
                "PO0303",
                f"{self}: every size has to be at least 1",
                hint="write how many steps a tile has, then its extents, from 1 on",
            )
        ref = loop(tree, self.loop, str(self))
        region = enter(scop, tree, ref, [statement.name for statement in scop.statements])
        try:
            if not region.values:
                raise NoHalo(f"no iteration runs in {ref}")
            return OverlapPlan.of(region, steps, sizes)
        except NoHalo as error:
            raise self._refused(error) from error

    def _refused(self, error: NoHalo) -> ScheduleError:
        hint = "run the time steps one after the other; or `skew` the loops and `tile` them"
        return ScheduleError("PO0344", f"{self}: {error}", hint=hint)
