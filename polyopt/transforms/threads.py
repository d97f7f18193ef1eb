"""Threads: run iterations by the threads of a block, on a device.

In: loops of one band.  Out: the same tree with the loops marked; the legality check decides.
Refuses: loops inside or around others that run across threads, loops around a grid.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Threads(Written):
    """Distribute the loops' iterations to the threads of a block.

    Neighbouring iterations of the last loop go to neighbouring threads.  The loops must carry no
    dependence; one thread runs their body.  Every nest inside the grid may be distributed in its
    own way; barriers separate nests that need one.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.grid import Grid
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (8, 32)), Grid(("L0.tile",)))
    >>> print(tiled.apply(Threads(("L0.point",))))
    for i_tile = floor(i/8):  [L0.tile[0]]  # block, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # block
        for i = i:  [L0.point[0]]  # thread, permutable band
          for j = j:  [L0.point[1]]  # thread
            S0: A1[i, j] = A0[i, j]
    """

    loops: tuple[str, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked.

        Raises `ScheduleError` PO0301, PO0302, PO0304, PO0336.
        """
        label, positions = named_loops(tree, self.loops, str(self))
        outer = around(tree, label, positions[0])
        inner = loops_inside(tree, label, positions[-1])
        hint = "loops across threads are neighbours in one band: name them in one step"
        refuse_kinds(str(self), outer, (LoopKind.THREAD,), "around it", hint)
        refuse_kinds(str(self), inner, MAPPED, "inside it", hint)
        return marked(tree, label, positions, LoopKind.THREAD)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        yield from mapped_instead(refused, self.loops, Threads)
