"""Swizzle: number blocks in groups of a few rows, so that concurrent blocks share operands.

In: the last two loops of a grid.  Out: the same tree with the rows marked; blocks may start in any
order, so it is always legal.
Refuses: other loops, groups under 2.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Tree, find_band
from polyopt.transforms.mapping import named_loops
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Swizzle(Written):
    """Number the blocks of a grid down the columns of `group` rows, then of the next ones.

    Adjacent blocks read the same rows of one operand and the same columns of another: square groups
    of blocks load less from memory than rows of blocks.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.mapping import Grid
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (8, 32)), Grid(("L0.tile",)))
    >>> print(tiled.apply(Swizzle("i_tile", "j_tile", 8)))
    for i_tile = floor(i/8):  [L0.tile[0]]  # block, groups of 8, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # block
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    rows: str
    columns: str
    group: int

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the rows marked.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0304, PO0336.
        """
        if self.group < 2:
            raise ScheduleError(
                "PO0303", f"{self}: a group of {self.group} rows is none", hint="for example 8"
            )
        first, second = (loop(tree, name, str(self)) for name in (self.rows, self.columns))
        label, positions = named_loops(tree, (self.rows, self.columns), str(self))
        members = find_band(tree, label).members
        is_pair = len(positions) == 2 and first.position == positions[0]
        after = members[positions[-1] + 1 : positions[-1] + 2]
        kinds = [members[p].kind for p in positions]
        if (
            not is_pair
            or any(kind is not LoopKind.BLOCK for kind in kinds)
            or any(member.kind is LoopKind.BLOCK for member in after)
        ):
            raise ScheduleError(
                "PO0336",
                f"{self}: {first} and {second} are not the last two loops of a grid",
                hint="use `grid` first, and name its last two loops in their order",
            )
        return change_loop(tree, self.rows, str(self), lambda m: replace(m, group=self.group))
