"""Map updates of data-dependent elements, as of a histogram, by atomic operations.

In: nests of one statement `a[f(x[i])] op= y` whose order is not observable.  Out: all of their
loops on the grid and across threads.  Sums of floats keep their order, which atomics do not.
"""

from __future__ import annotations

from polyopt.ir.budget import optional
from polyopt.ir.identity import NoUpdate, is_exact, update_of
from polyopt.ir.scop import Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Leaf, bands, find_band, fresh_label, path_to, statements_of
from polyopt.strategy.gpu.mapped_loops import MAPPED, is_mapped
from polyopt.strategy.gpu.model import GpuModel
from polyopt.transforms import Atomic, Grid, Threads, Tile

BUDGET = 5_000_000  # isl operations for one nest
TERMS = 16
"""Updates of a thread where a block can gather them in an array of its own."""
GRID = 6
"""Loops that a grid has room for."""


def map_updates(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with its updates of data-dependent elements mapped."""
    if not device.atomics:
        return schedule
    for label in [band.label for band in bands(schedule.tree)]:
        with optional("an update", BUDGET):
            schedule = _mapped(schedule, label, device) or schedule
    return schedule


def _mapped(schedule: Schedule, label: str, device: GpuModel) -> Schedule | None:
    """Return `schedule` with a band mapped, or None for other bands."""
    band = find_band(schedule.tree, label)
    path, domain = path_to(schedule.tree, schedule.scop, label)
    names = statements_of(schedule.scop, domain)
    count = len(band.members)
    if not isinstance(band.child, Leaf) or len(names) != 1 or count > GRID:
        return None
    if is_mapped(band) or any(member.kind in MAPPED for member in path):
        return None
    if not _is_update(schedule.scop.statement(names[0])):
        return None
    tile = fresh_label(schedule.tree, f"{label}.tile")
    point = fresh_label(schedule.tree, f"{label}.point")
    size, ones = min(device.block, device.threads), [1] * (count - 1)
    if len(schedule.scop.statement(names[0]).target.index) > 1:
        return schedule.attempt(
            Tile(label, (*ones, size)), Atomic(names[0]), Threads((point,)), Grid((tile,))
        )
    return schedule.attempt(
        Tile(label, (*ones, TERMS * size)),
        Tile(point, (*ones, size)),
        Atomic(names[0]),
        Threads((f"{point}.point",)),
        Grid((tile,)),
    )


def _is_update(statement: Statement) -> bool:
    """Tell whether a statement updates a data-dependent element in an order nobody observes."""
    if statement.write.exact:
        return False
    try:
        op, _ = update_of(statement.target, statement.value)
    except NoUpdate:
        return False
    return is_exact(op, statement.target.dtype)
