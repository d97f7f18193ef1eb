"""Choose the sizes of a contraction's tiles, for blocks and for threads.

In: a contraction, a device.  Out: sizes for which copies fit in shared memory and results in
registers, smaller ones where known sizes would leave the device with few blocks.
"""

from __future__ import annotations

from math import prod

from polyopt.dataclass import dataclass
from polyopt.schedule.schedule import Schedule
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.roles import Roles

DEPTH = 16
"""Terms of a sum that are copied at once."""
WIDE = 16
"""Bytes that a thread reads or writes at once."""


@dataclass(frozen=True, slots=True)
class TileSizes:
    """A block computes `rows` x `columns` results, a thread `own_rows` x `own_columns` of them.

    A thread's columns are in groups of `wide` neighbours, separated by those of the other threads.
    """

    rows: int
    columns: int
    depth: int
    own_rows: int
    own_columns: int
    wide: int


def contraction_tile_sizes(schedule: Schedule, roles: Roles, device: GpuModel) -> TileSizes:
    """Return sizes for which copies and results fit: a square of threads, a tile for each."""
    size = schedule.scop.array(roles.result).dtype.size
    own = side = 1
    while (2 * own) ** 2 * size <= device.registers:
        own *= 2
    while (2 * side) ** 2 <= min(device.block, device.threads):
        side *= 2
    while own > LEAST_OWN and count_blocks(roles, own * side, device) < device.processors:
        own //= 2
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
    own_rows, own_columns = min(own, rows), min(own, columns)
    wide = max(1, min(own_columns, WIDE // size))
    return TileSizes(rows, columns, depth, own_rows, own_columns, wide)


LEAST_OWN = 2
"""Rows and columns of results that a thread has even where there are few blocks."""


def count_blocks(roles: Roles, side: int, device: GpuModel) -> int:
    """Return the number of blocks of `side` x `side` results; enough where that is unknown."""
    counts = []
    for position in (roles.row, roles.column, *roles.batch):
        size = roles.sizes[position]
        if size is None:
            return device.processors
        counts.append(size if position in roles.batch else -(-size // side))
    return prod(counts)
