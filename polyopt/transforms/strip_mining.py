"""Strip-mine one loop of a band in place: the common part of `strip` and `deal`.

In: a tree, a loop, a size, a rule that splits a member.  Out: the tree with two members for the
loop.  Refuses: a size under 1, a name of no loop.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import replace
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import Band, BandMember, Tree, replace_band
from polyopt.transforms.reference import loop
from polyopt.transforms.tile import checked_sizes


def strip_mine(
    tree: Tree,
    name: str,
    size: Size,
    step: str,
    halves: Callable[[BandMember, int], tuple[BandMember, BandMember]],
) -> Tree:
    """Return `tree` with the loop `name` split in two; raises `ScheduleError` PO0301 to PO0303."""
    ref = loop(tree, name, step)
    (number,) = checked_sizes((size,), step)
    assert ref.position is not None
    position = ref.position

    def change(band: Band) -> Tree:
        split = halves(band.members[position], number)
        members = (*band.members[:position], *split, *band.members[position + 1 :])
        return replace(band, members=members)

    return replace_band(tree, ref.label, change)
