"""Tile nests that process a matrix column by column into strips of columns.

In: a permutable band of steps, which carry dependences, and columns, around loops that run down a
column; columns depend on others.
Out: strips of columns that stay in the cache for all steps; inside a step the columns of a strip
innermost, in SIMD lanes, sums in registers.  None for other bands.
"""

from __future__ import annotations

from polyopt import transforms
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Sequence, bands, find_band, path_to, statements_of
from polyopt.strategy.vector import dependence_order, vector_gain
from polyopt.transforms import Distribute, Interchange, Parallelize, Separate, Skew, Tile, Vectorize

VECTORS = 4  # vectors in a strip: chains of additions that keep the adders busy


def strip_columns(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the columns of band `label` in strips, or None for other bands."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) != 2 or band.members[0].coincident:
        return None
    if _descents(schedule, band) < 2 or _are_columns_independent(schedule, band):
        return None
    size = _strip(schedule, band, machine)
    tile, point = f"{label}.tile", f"{label}.point"
    steps: list[Transform] = [Tile(label, (size, size)), Skew(f"{tile}[0]", f"{tile}[1]", 1)]
    tiled = schedule.attempt(*steps, Parallelize(f"{tile}[1]"))
    body = None if tiled is None else find_band(tiled.tree, point).child
    if tiled is None or not isinstance(body, Sequence):
        return None
    order = dependence_order(tiled, point, body)
    if order is None:
        return None
    split = tiled.attempt(transforms.Reorder(point, order), Distribute(point, 1))
    if split is None:
        return None
    has_lanes = False
    for number in range(len(order)):
        found = _in_lanes(split, f"{point}.{number}", size)
        has_lanes = has_lanes or found is not None
        split = found or split
    return split if has_lanes else None


def _descents(schedule: Schedule, band: Band) -> int:
    """Return how many inner loops run down a column and so leave lanes to the band's last loop."""
    inner = [b for b in bands(band.child) if len(b.members) == 1]
    return sum(vector_gain(schedule, b.label, 0) <= 0 for b in inner)


def _are_columns_independent(schedule: Schedule, band: Band) -> bool:
    """Tell whether columns are independent: the loop over them carries nothing around the steps."""
    if not band.members[1].coincident:
        return False
    turned = schedule.attempt(Interchange(f"{band.label}[0]", f"{band.label}[1]"))
    return turned is not None and find_band(turned.tree, band.label).members[0].coincident


def _in_lanes(schedule: Schedule, label: str, size: int) -> Schedule | None:
    """Return `schedule` with the columns of one nest innermost, full strips separated."""
    band = find_band(schedule.tree, label)
    last = len(band.members) - 1
    if not last or vector_gain(schedule, label, 0) <= 0:
        return None
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(last)
    ]
    return schedule.attempt(*moves, Vectorize(f"{label}[{last}]"), Separate(label, label, (size,)))


def _strip(schedule: Schedule, band: Band, machine: Machine) -> int:
    """Return the number of columns in a strip."""
    _, domain = path_to(schedule.tree, schedule.scop, band.label)
    sizes = [
        schedule.scop.array(schedule.scop.statement(name).target.array).dtype.size
        for name in statements_of(schedule.scop, domain)
    ]
    return VECTORS * max(1, machine.vector_bytes // max(sizes))
