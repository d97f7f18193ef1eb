"""Contractions on a device: tiles of operands in shared memory, tiles of results in registers.

In: a nest that adds products into an array of fewer dimensions.  Out: one block for each tile of
the result; operands copied in by all threads, results kept by the thread that computes them.
The scheme is Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra", 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import bands, find_band, fresh_label
from polyopt.strategy.contraction import order_steps
from polyopt.strategy.gpu.mapped import is_mapped, new_nests
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.roles import Roles, find_roles
from polyopt.transforms import Grid, Pack, Threads, Tile

BUDGET = 10_000_000  # isl operations for one contraction
GRID = 3
"""Dimensions of a grid."""
DEPTH = 16
"""Terms of a sum that are copied at once."""


@dataclass(frozen=True, slots=True)
class TileSizes:
    """A block computes `rows` x `columns` results, `own_rows` x `own_columns` of them a thread."""

    rows: int
    columns: int
    depth: int
    own_rows: int
    own_columns: int


def map_contractions(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with all its contractions mapped."""
    for label in [band.label for band in bands(schedule.tree)]:
        if not is_mapped(find_band(schedule.tree, label)):
            with optional("a tile of products", BUDGET):
                roles = find_roles(schedule, label)
                found = roles and _mapped(schedule, label, roles, device)
                schedule = found or schedule
    return schedule


def tile_sizes(schedule: Schedule, roles: Roles, device: GpuModel) -> TileSizes:
    """Return sizes for which copies and results fit: a square of threads, a tile for each."""
    size = schedule.scop.array(roles.result).dtype.size
    own = side = 1
    while (2 * own) ** 2 * size <= device.registers:
        own *= 2
    while (2 * side) ** 2 <= min(device.block, device.threads):
        side *= 2
    depth = min(DEPTH, roles.sizes[roles.depth[-1]] or DEPTH)
    while 2 * own * side * depth * size > device.shared and own * side * depth > 1:
        if depth > 1 and depth * 4 > DEPTH:
            depth //= 2
        elif side > 1:
            side //= 2
        elif depth > 1:
            depth //= 2
        else:
            own //= 2
    rows, columns = (
        min(own * side, roles.sizes[p] or own * side) for p in (roles.row, roles.column)
    )
    return TileSizes(rows, columns, depth, min(own, rows), min(own, columns))


def _mapped(schedule: Schedule, label: str, roles: Roles, device: GpuModel) -> Schedule | None:
    """Return `schedule` with the contraction in tiles, or None where the judge refuses."""
    sizes = tile_sizes(schedule, roles, device)
    result = (*roles.batch[-1:], roles.row, roles.column, *roles.batch[:-1])
    order = (*result, *roles.depth)
    size_of = {roles.row: sizes.rows, roles.column: sizes.columns, roles.depth[-1]: sizes.depth}
    band = find_band(schedule.tree, label)
    tile = fresh_label(schedule.tree, f"{label}.tile")
    point = fresh_label(schedule.tree, f"{label}.point")
    tiled = schedule.attempt(
        *order_steps(label, band, order), Tile(label, tuple(size_of.get(p, 1) for p in order))
    )
    threaded = None if tiled is None else _threaded(tiled, point, order.index(roles.row), sizes)
    if threaded is None:
        return None
    found = _with_operands(threaded, f"{tile}[{len(order) - 1}]", roles.operands)
    own = (sizes.own_rows, sizes.own_columns)
    own = own[::-1] if roles.turned else own
    found = _with_results(found, f"{tile}[{len(result) - 1}]", roles.result, own)
    blocks = tuple(f"{tile}[{p}]" for p in range(min(len(result), GRID)))
    return found.attempt(Grid(blocks))


def _threaded(schedule: Schedule, point: str, row: int, sizes: TileSizes) -> Schedule | None:
    """Return `schedule` with a tile of points for each thread, whose results are innermost."""
    band = find_band(schedule.tree, point)
    count = len(band.members)
    others = [p for p in range(count) if p not in (row, row + 1)]
    first = order_steps(point, band, (row, row + 1, *others))
    tile = fresh_label(schedule.tree, f"{point}.tile")
    own = fresh_label(schedule.tree, f"{point}.point")
    tiled = schedule.attempt(*first, Tile(point, (sizes.own_rows, sizes.own_columns)))
    if tiled is None:
        return None
    last = order_steps(own, find_band(tiled.tree, own), (*range(2, count), 0, 1))
    return tiled.attempt(*last, Threads((tile,)))


def _with_operands(schedule: Schedule, loop: str, operands: tuple[str, ...]) -> Schedule:
    """Return `schedule` with the operands copied in before each tile, by all threads."""
    for name in operands:
        packed = schedule.attempt(Pack(name, loop))
        if packed is not None:
            dealt = [Threads((label,)) for label in new_nests(packed, schedule)]
            schedule = packed.attempt(*dealt) or schedule
    return schedule


def _with_results(schedule: Schedule, loop: str, result: str, own: tuple[int, ...]) -> Schedule:
    """Return `schedule` with the results kept apart, each by the thread that computes it."""
    packed = schedule.attempt(Pack(result, loop))
    steps: list[Transform] = []
    for label in () if packed is None else new_nests(packed, schedule):
        steps += [Tile(label, own), Threads((f"{label}.tile",))]
    found = None if packed is None else packed.attempt(*steps)
    return found or schedule
