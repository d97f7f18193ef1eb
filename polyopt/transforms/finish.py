"""Finish: run a nest in the last block of the kernel before it, on a device.

In: a nest that one block can run, after one across a grid.  Out: the same tree with it marked; it
runs after all blocks in any case, so it is always legal.
Refuses: nests across blocks or processors, nests with no grid before them (PO0345).
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Band, BandMember, Tree, bands, find_band, replace_band, resolve
from polyopt.transforms.mapping import around
from polyopt.transforms.written import Written

_WIDE = (LoopKind.BLOCK, LoopKind.PARALLEL)


@dataclass(frozen=True, slots=True)
class Finish(Written):
    """Run a nest in the launch of the grid before it, by the block that comes to its end last.

    Blocks count themselves when what they have written can be seen; the one that is last has all
    results of the others, and works in the order that a kernel of its own would have.
    """

    band: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the nest marked.

        Raises `ScheduleError` PO0301, PO0302, PO0345.
        """
        label = resolve(tree, self.band).label
        band = find_band(tree, label)
        inside = [member for inner in bands(band) for member in inner.members]
        if any(member.kind in _WIDE for member in (*around(tree, label, 0), *inside)):
            raise self._refused(
                f"the loops of {label} run across several blocks",
                "name a nest that one block runs: with `threads`, without `grid`",
            )
        if not _has_grid_before(tree, label):
            raise self._refused(
                f"no nest before {label} runs across the blocks of a grid",
                "use `grid` on a nest that runs before this one",
            )
        return replace_band(tree, label, _marked)

    def _refused(self, reason: str, hint: str) -> ScheduleError:
        return ScheduleError("PO0345", f"{self}: {reason}", hint=hint)


def _marked(band: Band) -> Band:
    first: BandMember = replace(band.members[0], finishes=True)
    return replace(band, members=(first, *band.members[1:]))


def _has_grid_before(tree: Tree, label: str) -> bool:
    for band in bands(tree):
        if band.label == label:
            return False
        if any(member.kind is LoopKind.BLOCK for member in band.members):
            return True
    return False
