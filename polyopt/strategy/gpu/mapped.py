"""What of a tree is mapped to a device.

In: a tree.  Out: whether loops of it run across blocks or threads.
"""

from __future__ import annotations

from polyopt.ir.loops import LoopKind
from polyopt.schedule.tree import BandMember, Tree, bands

MAPPED = (LoopKind.BLOCK, LoopKind.THREAD)


def is_mapped(tree: Tree) -> bool:
    """Tell whether some loop of the tree runs across blocks or threads."""
    return any(member.kind in MAPPED for band in bands(tree) for member in band.members)


def grid_of(loops: tuple[BandMember, ...]) -> tuple[BandMember, ...]:
    """Return those of the loops that run across blocks."""
    return tuple(member for member in loops if member.kind is LoopKind.BLOCK)
