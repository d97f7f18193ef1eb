"""Repair steps by applying them to other loops; name loops.

In: a refused step, a way to apply it.  Out: `Repair` candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import LoopRef, Tree, bands, find_band


def name_of(tree: Tree, label: str, position: int) -> str:
    """Return the shortest name of a loop: its iterator if that is unique."""
    name = find_band(tree, label).members[position].name
    others = [m.name for band in bands(tree) for m in band.members]
    taken = {band.label for band in bands(tree)}
    if others.count(name) == 1 and name not in taken:
        return name
    return f"{label}[{position}]"


def loops_nearby(tree: Tree, loop: LoopRef) -> Iterator[tuple[str, int]]:
    """Yield the other loops of the nest: in the band, inside it, around it."""
    own = find_band(tree, loop.label)
    inside = [band.label for band in bands(own.child)]
    around = [
        band.label
        for band in bands(tree)
        if band is not own and any(inner is own for inner in bands(band))
    ]
    for label in (loop.label, *inside, *reversed(around)):
        for position in range(len(find_band(tree, label).members)):
            if LoopRef(label, position) != loop:
                yield label, position


def other_loop(
    refused: RefusedStep, loop: LoopRef, step: Callable[[str], Transform]
) -> Iterator[Repair]:
    """Yield the step applied to the other loops of the nest."""
    for label, position in loops_nearby(refused.tree, loop):
        yield Repair(RepairKind.OTHER_LOOP, (step(name_of(refused.tree, label, position)),))
