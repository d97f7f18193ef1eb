"""Resolve the names in a step to loops.

In: a tree and a name.  Out: the loop it means.
Refuses: a name of no loop, of several loops, of a band where one loop is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from polyopt.dataclass import replace
from polyopt.errors import ScheduleError
from polyopt.schedule.tree import Band, BandMember, LoopRef, Tree, find_band, replace_band, resolve


def loop(tree: Tree, name: str, step: str) -> LoopRef:
    """Return the loop called `name`; the label of a band with one loop will do.

    Raises `ScheduleError` PO0301, PO0302, PO0303.
    """
    ref = resolve(tree, name)
    if ref.position is not None:
        return ref
    band = find_band(tree, ref.label)
    if len(band.members) == 1:
        return LoopRef(ref.label, 0)
    raise ScheduleError(
        "PO0303",
        f"{step}: band {name} has {len(band.members)} loops, one is needed",
        hint=f"say which: {', '.join(f'{name}[{n}]' for n in range(len(band.members)))}",
    )


def change_loop(
    tree: Tree, name: str, step: str, change: Callable[[BandMember], BandMember]
) -> Tree:
    """Return `tree` with the loop called `name` replaced by `change(loop)`."""
    ref = loop(tree, name, step)
    return change_members(tree, ref.label, (ref.position,), change)


def change_members(
    tree: Tree,
    label: str,
    positions: Collection[int | None],
    change: Callable[[BandMember], BandMember],
) -> Tree:
    """Return `tree` with the loops at `positions` of a band replaced by `change(loop)`."""

    def renew(band: Band) -> Tree:
        members = tuple(
            change(member) if position in positions else member
            for position, member in enumerate(band.members)
        )
        return replace(band, members=members)

    return replace_band(tree, label, renew)
