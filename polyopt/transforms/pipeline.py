"""Pipeline: start the copies of later iterations of a loop inside a block ahead of time.

In: a loop that begins with copies into arrays of a block.  Out: the same tree with the loop marked;
the copies move when loops for a device are made, and are proven there.
Refuses: loops outside of a grid, loops across threads, loops that do not begin with copies.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.annotations import Pipeline as Stages
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Sequence, Tree, find_band, path_to, statements_of
from polyopt.transforms.mapping import around
from polyopt.transforms.reference import change_loop, loop

LEAST, MOST = 2, 8
"""Stages that a pipeline may have."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Start the copies for later iterations of `loop` while one computes (Lam, "Software
    pipelining: an effective scheduling technique for VLIW machines", 1988).

    Arrays that the loop starts with filling get a part for each of `stages`.  A device that
    supports it copies asynchronously, unless `is_plain`.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.mapping import Grid
    >>> from polyopt.transforms.pack import Pack
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (32, 32)), Pack("A0", "j_tile"), Grid(("i_tile",)))
    >>> print(tiled.apply(Pipeline("j_tile", 2)))
    for i_tile = i_tile:  [L0.tile[0]]  # block, permutable band
      for j_tile = j_tile:  [L0.tile[1]]  # pipeline of 2 stages, carries no dependence
        for A00 = A00:  [A0_in[0]]  # carries no dependence, permutable band
          for A01 = A01:  [A0_in[1]]  # carries no dependence
            A0_in: A0_pack[i_tile, j_tile, A00, A01] = A0[A00 + 32 * i_tile, A01 + 32 * j_tile]
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    loop: str
    stages: int
    is_plain: bool = False

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0341.
        """
        if not LEAST <= self.stages <= MOST:
            raise self._refused(
                f"it would have {self.stages} stages", f"ask for {LEAST} to {MOST} stages"
            )
        ref = loop(tree, self.loop, str(self))
        assert ref.position is not None
        band = find_band(tree, ref.label)
        member = band.members[ref.position]
        outer = [other.kind for other in around(tree, ref.label, ref.position)]
        if member.kind is not LoopKind.SEQUENTIAL or LoopKind.THREAD in outer:
            raise self._refused(
                "all threads of a block have to run the loop together, in order",
                "choose the loop over tiles around those that run across threads",
            )
        if LoopKind.BLOCK not in outer:
            raise self._refused("the loop is not inside a block", "use `grid` first")
        if ref.position != len(band.members) - 1 or not self._copies(tree, scop, ref.label):
            raise self._refused(
                "the loop does not begin with copies",
                f"pack what it reads first, for example pack(A, {self.loop})",
            )
        mark = Stages(self.stages, is_async=not self.is_plain)
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, pipeline=mark))

    def _copies(self, tree: Tree, scop: Scop, label: str) -> bool:
        """Tell whether the first part inside the loop copies what nothing inside changes."""
        child = find_band(tree, label).child
        if not isinstance(child, Sequence):
            return False
        _, domain = path_to(tree, scop, label)
        inside = [scop.statement(name) for name in statements_of(scop, domain)]
        written = {statement.write.array for statement in inside}
        first = statements_of(scop, domain.intersect(child.parts[0].domain))
        return all(
            (statement := scop.statement(name)).origin is not None
            and not statement.origin.statement
            and all(access.array not in written for access in statement.reads)
            for name in first
        )

    def _refused(self, reason: str, hint: str) -> ScheduleError:
        return ScheduleError("PO0341", f"{self}: {reason}", hint=hint)

    def __str__(self) -> str:
        plain = ", plain" if self.is_plain else ""
        return f"pipeline({self.loop}, {self.stages}{plain})"
