"""Choose contractions for matrix instructions, and the sizes of their tiles.

In: a contraction, a device.  Out: sizes of a block's and of a warp's tile, or None where there is
no instruction for the types of its operands or too little work.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.matrix import DEPTHS
from polyopt.ir.types import DType
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import path_to, statements_of
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.roles import Roles
from polyopt.strategy.gpu.tiles import TileSizes, count_blocks
from polyopt.transforms.tensorize import factors_of

STEPS = 2
"""Instructions along the terms between two barriers."""


@dataclass(frozen=True, slots=True)
class WarpTile:
    """The results of a warp."""

    rows: int
    columns: int


_TILES = ((128, 128, WarpTile(64, 32)), (64, 64, WarpTile(32, 32)), (32, 32, WarpTile(16, 16)))
"""A block's rows and columns, a warp's: the first is best, the others make more blocks."""


def matrix_sizes(
    schedule: Schedule, label: str, roles: Roles, sizes: TileSizes, device: GpuModel
) -> tuple[TileSizes, WarpTile] | None:
    """Return the sizes of tiles for matrix instructions, or None."""
    if not device.matrices or len(roles.depth) != 1 or len(roles.batch) > 1:
        return None
    _, domain = path_to(schedule.tree, schedule.scop, label)
    statement = schedule.scop.statement(statements_of(schedule.scop, domain)[0])
    factors = factors_of(statement)
    if factors is None or statement.reduction is None or not statement.reduction.reassociable:
        return None
    dtype = factors[0].dtype
    if dtype is not factors[1].dtype or dtype not in DEPTHS:
        return None
    if dtype is DType.FLOAT32 and not statement.reduction.rounds:
        return None
    depth = STEPS * DEPTHS[dtype]
    tiles = [(replace(sizes, rows=i, columns=j, depth=depth), warp) for i, j, warp in _TILES]
    for found, warp in tiles:
        enough = count_blocks(roles, found.rows, device) >= device.processors
        if enough and not _is_wasted(roles, found):
            return found, warp
    return tiles[-1]


def _is_wasted(roles: Roles, sizes: TileSizes) -> bool:
    """Tell whether half of a tile or more would be outside of the result."""
    extents = (roles.sizes[roles.row], sizes.rows), (roles.sizes[roles.column], sizes.columns)
    return any(known is not None and 2 * known <= tile for known, tile in extents)
