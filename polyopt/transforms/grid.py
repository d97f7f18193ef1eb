"""Grid: run iterations in blocks of their own, on a device.

In: up to six loops of one band.  Out: the tree with the loops marked; the legality check decides.
Refuses: more than six loops, loops inside or around others that are mapped in another way.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Tree
from polyopt.transforms.mapping import (
    MAPPED,
    around,
    loops_inside,
    mapped_instead,
    marked,
    named_loops,
    refuse_kinds,
)
from polyopt.transforms.written import Written

MOST = 6
"""Loops whose iterations a grid has blocks for; more than three are counted along one dimension."""


@dataclass(frozen=True, slots=True)
class Grid(Written):
    """Run the loops across the blocks of a grid: blocks run in any order and share nothing.

    The last loop is the grid's fastest dimension.  The loops must carry no dependence.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> print(demo().apply(Tile("L0", (8, 32)), Grid(("L0.tile",))))
    for i_tile = floor(i/8):  [L0.tile[0]]  # block, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # block
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    loops: tuple[str, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0304, PO0336.
        """
        label, positions = named_loops(tree, self.loops, str(self))
        if len(positions) > MOST:
            raise ScheduleError(
                "PO0303",
                f"{self}: a grid has at most {MOST} loops, {len(positions)} were given",
                hint=f"name at most {MOST} loops; the others run inside a block",
            )
        outer = around(tree, label, positions[0])
        inner = loops_inside(tree, label, positions[-1])
        hint = "a nest has one grid: name all its loops in one step, before `threads`"
        refuse_kinds(str(self), outer, MAPPED, "around it", hint)
        refuse_kinds(str(self), inner, (LoopKind.BLOCK,), "inside it", hint)
        return marked(tree, label, positions, LoopKind.BLOCK)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        yield from mapped_instead(refused, self.loops, Grid)
