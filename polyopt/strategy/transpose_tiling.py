"""Tile nests that read along one loop and write along another, as transposes do.

In: a band without dependences in which accesses are contiguous along different loops.
Out: tiles as wide as a cache line of what is read across, so that each line is used whole while it
is in the first cache, and long in the direction of the writes, so that these are sequential; rows
of tiles in parallel.  None for other bands.
"""

from __future__ import annotations

from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Leaf, find_band, only_statement
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Cut, Parallelize, Tile


def tile_transpose(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the transpose at band `label` tiled, or None for other bands."""
    band = find_band(schedule.tree, label)
    free = all(member.coincident for member in band.members)
    if len(band.members) < 2 or not band.permutable or not free:
        return None
    if not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None:
        return None
    loops = _across(loop_moves(schedule, label, statement), statement.write.ref)
    if loops is None:
        return None
    around = [p for p in range(len(band.members)) if p not in loops]
    steps = order_steps(label, band, (*around, *loops))
    inner = label
    if around:
        steps.append(Cut(label, len(around)))
        inner = f"{label}.inner"
    size = schedule.scop.array(statement.target.array).dtype.size
    lines = machine.l1 // (2 * machine.line)  # of what is read across, in half of the first cache
    steps.append(Tile(inner, (max(1, machine.line // size), max(1, lines))))
    shared = [Parallelize(f"{label}[{p}]") for p in range(len(around))]
    return schedule.attempt(*steps, *(shared or [Parallelize(f"{inner}.tile[0]")]))


def _across(moves: list[dict[str, Stride]], write: str) -> tuple[int, int] | None:
    """Return the loop along which an access is contiguous and the write is strided."""
    inner = next((p for p, move in enumerate(moves) if move[write] is Stride.CONTIGUOUS), None)
    if inner is None:
        return None
    jumping = [ref for ref, step in moves[inner].items() if step is Stride.STRIDED]
    for outer, move in enumerate(moves):
        if any(move[ref] is Stride.CONTIGUOUS for ref in jumping):
            return outer, inner
    return None
