"""Shard and replicate: which arrays the ranks of a job have parts of, and which whole.

In: an array, its axes.  Out: the same tree; a kernel with a mesh cuts the array, and derives from
that which rank runs what.  One rank has whole arrays: there the steps change nothing.
Refuses: arrays and axes that are not there (PO0331).
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Tree
from polyopt.transforms.accesses import find_array
from polyopt.transforms.layout import Dimension, Part
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Shard(Written):
    """Cut an array along an axis for each axis of the mesh.

    `0` is one block for each rank, `0%32` blocks of 32 indices that ranks get in turn.
    """

    array: str
    axes: tuple[Dimension, ...]

    def cuts(self) -> tuple[tuple[int, int | None], ...]:
        """Return each axis with the length of blocks, if ranks get them in turn.

        Raises `ScheduleError` PO0331.
        """
        known = (Part.WHOLE, Part.POINT)
        if not self.axes or any(one.part not in known for one in self.axes):
            raise ScheduleError(
                "PO0331",
                f"{self}: that is no axis to cut along",
                hint="give an axis for each one of the mesh: 0, or 0%32 for blocks of 32 in turn",
            )
        return tuple((one.old, one.size if one.part is Part.POINT else None) for one in self.axes)

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the same tree; raises `ScheduleError` PO0331."""
        array = find_array(scop, self.array, str(self))
        for axis, _ in self.cuts():
            if axis >= len(array.shape):
                raise ScheduleError(
                    "PO0331",
                    f"{self}: `{self.array}` has {len(array.shape)} dimensions and no axis {axis}",
                    hint=f"the first axis is 0, the last one {len(array.shape) - 1}",
                )
        return tree


@dataclass(frozen=True, slots=True)
class Replicate(Written):
    """Let each rank have all of an array, also where it would be cut beside another one."""

    array: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the same tree; raises `ScheduleError` PO0331."""
        find_array(scop, self.array, str(self))
        return tree
